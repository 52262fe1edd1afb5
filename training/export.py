"""A trained model as the one file that ships: ONNX, its weights in eight bits. Prints its size and its hash.

python training/export.py reader.pt src/everthread/embed/data/reader-int8.onnx
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from pathlib import Path

import torch
from model import Reader, batch
from onnxruntime.quantization import QuantType, quantize_dynamic


def main() -> None:
    given, path = map(Path, sys.argv[1:])
    kept = torch.load(given)
    reader = Reader(kept["layers"])
    reader.load_state_dict(kept["state"])
    reader.eval()
    names = {"ids": {0: "rows", 1: "pieces"}, "mask": {0: "rows", 1: "pieces"}}
    made = {"tells": {0: "rows"}, "matter": {0: "rows"}, "value": {0: "rows"}}
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "reader.onnx"
        torch.onnx.export(
            reader,
            batch([[101, 2026, 102], [101, 2085, 102]]),
            str(whole),
            input_names=list(names),
            output_names=list(made),
            dynamic_axes=names | made,
            opset_version=17,
            dynamo=False,
        )
        quantize_dynamic(whole, path, weight_type=QuantType.QInt8, per_channel=True)
    print(path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest())


if __name__ == "__main__":
    main()
