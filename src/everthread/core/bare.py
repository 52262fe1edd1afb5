"""The words of a message as they are compared with what was said before."""

from __future__ import annotations

import re

from everthread.core.messages import Message
from everthread.core.sentences import own_words

THOUGHTS = re.compile(
    r'<think>.*?</think>|<details type="(?:reasoning|code_interpreter|tool_calls)".*?</details>', re.DOTALL
)

ATTACHED = re.compile(r"^\s*<attached_files>.*?</attached_files>\s*", re.DOTALL)


def bare(message: Message) -> str:
    """The words of a message without what clients put around them, or leave out when they send it again."""
    text = message.text
    if message.role == "user":
        text = own_words(text) or text if "### Task:" in text else text
        return ATTACHED.sub("", text) if "<attached_files>" in text else text
    if message.role == "assistant" and ("<think>" in text or "<details" in text):
        return THOUGHTS.sub("", text)
    return text
