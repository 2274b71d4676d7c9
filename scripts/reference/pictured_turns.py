"""Conversations about the odd images of test/golden/internvl/images.json, and the greedy tokens that goldens of models that read media hold."""

import base64
import io
import json
from pathlib import Path

import torch
from PIL import Image, ImageOps

FILES = json.loads((Path(__file__).parents[2] / 'test' / 'golden' / 'internvl' / 'images.json').read_text())['images']


def opened(file):
    return ImageOps.exif_transpose(Image.open(io.BytesIO(base64.b64decode(file))))


def inputs_of(processor, turns, begins_reply=True, types=False, **options):
    """What a processor makes of turns: (role, texts and names of images). `types`: whether the model reads the types of tokens."""
    parts = [
        dict(role=role, content=[dict(type='image') if part in FILES else dict(type='text', text=part) for part in content]) for role, content in turns
    ]
    text = processor.apply_chat_template(parts, tokenize=False, add_generation_prompt=begins_reply)
    shown = [opened(FILES[part]['file']) for _, content in turns for part in content if part in FILES]
    inputs = processor(text=text, images=shown or None, return_tensors='pt', add_special_tokens=False, **options)
    if not types:
        inputs.pop('token_type_ids', None)
    return inputs


@torch.no_grad()
def greedy_turns(model, given, turns, count, least=0.0):
    """`given`: inputs by name; `turns`: what the golden states of each conversation. Returns ids and `count` tokens by name, and the smallest lead of a
    token over the second, as a share of the largest logit; (None, 0) where tokens repeat or a lead is below `least`, so that another seed is tried."""
    listed, margins = {}, []
    for name, inputs in given.items():
        out = model.generate(**inputs, do_sample=False, max_new_tokens=count, output_logits=True, return_dict_in_generate=True, eos_token_id=None)
        prompt = inputs['input_ids'][0]
        tokens = out.sequences[0, prompt.numel() :]
        rows = torch.cat(out.logits)
        best = rows.topk(2).values
        margins.append(((best[:, 0] - best[:, 1]) / rows.abs().amax(-1)).min().item())
        if len(set(tokens.tolist())) < 6 or margins[-1] < least:
            return None, 0
        listed[name] = dict(turns=turns[name], ids=prompt.tolist(), greedy=tokens.tolist())
    return listed, min(margins)
