"""Content parts, read: texts, images and files, in the chat form."""

from __future__ import annotations

from typing import Literal

import msgspec

from everthread.errors import Malformed
from everthread.wire import chat

TEXTS = {"input_text", "output_text", "text"}


class PartIn(msgspec.Struct):
    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: str | None = None
    detail: Literal["low", "high", "auto", "original"] | None = None
    filename: str | None = None
    file_data: str | None = None
    file_id: str | None = None
    file_url: str | None = None


def answer_body(parts: list[PartIn], param: str) -> dict[str, object]:
    """The content of an assistant's message: its texts, and what it refused."""
    texts: list[str] = []
    refusals: list[str] = []
    for number, part in enumerate(parts):
        if part.type == "refusal":
            refusals.append(needed(part.refusal, f"{param}[{number}].refusal"))
        elif part.type in TEXTS:
            texts.append(needed(part.text, f"{param}[{number}].text"))
        else:
            raise unfit(part, f"{param}[{number}]", "an assistant's message has output_text and refusal")
    if not (texts or refusals):
        raise Malformed(f"{param} is empty; at least one part is needed.", param=param)
    body: dict[str, object] = {"content": plain(texts)}
    if refusals:
        body["refusal"] = "\n".join(refusals)
    return body


def plain(texts: list[str]) -> str | list[dict[str, str]] | None:
    if len(texts) > 1:
        return [{"type": "text", "text": text} for text in texts]
    return texts[0] if texts else None


def parts_body(parts: list[PartIn], param: str) -> str | list[dict[str, object]]:
    """Content parts in the chat form; a text alone is just that text, and nothing is an empty one."""
    bodies = [part_body(part, f"{param}[{number}]") for number, part in enumerate(parts)]
    if len(parts) == 1 and parts[0].type in TEXTS:
        return parts[0].text or ""
    return bodies or ""


def part_body(part: PartIn, param: str) -> dict[str, object]:
    match part.type:
        case "input_text" | "output_text" | "text":
            return {"type": "text", "text": needed(part.text, f"{param}.text")}
        case "input_image":
            return image_body(part, param)
        case "input_file":
            return file_body(part, param)
        case _:
            raise unfit(part, param, "input_text, input_image and input_file can be sent")


def image_body(part: PartIn, param: str) -> dict[str, object]:
    if part.file_id is not None:
        raise Malformed("There are no stored files here; send the image as image_url.", param=f"{param}.file_id")
    image = {"url": needed(part.image_url, f"{param}.image_url")}
    if part.detail not in {None, "auto"}:
        image["detail"] = "high" if part.detail == "original" else str(part.detail)
    return {"type": "image_url", "image_url": image}


def file_body(part: PartIn, param: str) -> dict[str, object]:
    for name, given in (("file_id", part.file_id), ("file_url", part.file_url)):
        if given is not None:
            raise Malformed(
                "Files are neither stored nor fetched here; send the file's content as file_data.",
                param=f"{param}.{name}",
            )
    file = {"file_data": needed(part.file_data, f"{param}.file_data")}
    if part.filename is not None:
        file["filename"] = part.filename
    return {"type": "file", "file": file}


def needed(value: str | None, param: str) -> str:
    if value is None:
        raise chat.missing(param)
    return value


def unfit(part: PartIn, param: str, what: str) -> Malformed:
    return Malformed(f"{param}.type is {part.type}; {what}.", param=f"{param}.type")
