"""Files of torch.save for test/files/tensors/torch-file.test.ts:  python scripts/reference/torch_files.py

test/golden/torch holds one state in each form that torch has written files in, and values.json what it is.
"""

import collections
import json
from pathlib import Path

import torch

FOLDER = Path(__file__).resolve().parents[2] / "test" / "golden" / "torch"
FOLDER.mkdir(exist_ok=True)

generator = torch.Generator().manual_seed(1)


def drawn(*shape):
    return torch.randn(*shape, generator=generator)


weight = drawn(3, 5)
state = collections.OrderedDict(
    {
        "weight": weight,
        "half": drawn(4).half(),
        "brain": drawn(4).to(torch.bfloat16),
        "turned": drawn(4, 3).t(),
        "rows": weight[1:],
        "count": torch.arange(3),
        "parameter": torch.nn.Parameter(drawn(2, 2)),
        "none": torch.zeros(0, 3),
        "scalar": torch.tensor(2.5),
        "flag": torch.tensor([True, False]),
    }
)
state._metadata = {"": {"version": 1}}

torch.save(state, FOLDER / "zip.bin")
torch.save(state, FOLDER / "legacy.bin", _use_new_zipfile_serialization=False)
torch.save({**state, "float8": drawn(4).to(torch.float8_e4m3fn)}, FOLDER / "float8.bin")
torch.save({"epoch": 3, "counts": collections.Counter("aab"), "state_dict": state}, FOLDER / "training.ckpt")
torch.save({"params_ema": {"conv.weight": drawn(2, 1, 3, 3)}, "params": None}, FOLDER / "network.pth")
torch.save({"apart": drawn(4, 6)[:, ::2]}, FOLDER / "apart.bin")
torch.save(
    {"string_to_token": {"*": 265}, "string_to_param": {"*": drawn(2, 8)}, "name": "easy", "step": 100},
    FOLDER / "word.pt",
)

values = {name: {"shape": list(tensor.shape), "values": tensor.detach().float().flatten().tolist()} for name, tensor in state.items()}
(FOLDER / "values.json").write_text(json.dumps(values, indent=1) + "\n")
