"""The description of a tiny diffusers checkpoint: its components and its model_index.json."""

from dataclasses import dataclass, field


@dataclass
class Part:
    """A component: `kind` is model, a tokenizer, scheduler, file (`config`: names and values of JSON files) or copy (of `source`, another checkpoint's component)."""

    kind: str
    model: type | str = ''
    config: dict = field(default_factory=dict)
    seed: int = 0
    dtype: str = 'f16'
    gains: dict = field(default_factory=dict)
    source: str = ''
    published: bool = True  # CLIP: tensor names as in published checkpoints, else as transformers 5 writes them
    extra: dict = field(default_factory=dict)  # keys of the file that its class does not know
    old_names: bool = False  # AutoencoderKL: attention as query, key, value, proj_attn


@dataclass
class Checkpoint:
    parts: dict[str, Part]  # '' is the folder itself
    index: dict | None = None


def index(pipeline, **components):
    """model_index.json; an absent component is [null, null]."""
    listed = {name: list(place) if place else [None, None] for name, place in components.items()}
    return {'_class_name': pipeline, '_diffusers_version': '0.42.1', **listed}
