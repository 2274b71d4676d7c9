"""Makes a tiny checkpoint of Llama 4 that sees, and what transformers computes with it:

    python scripts/reference/llama4_media.py        with torchvision, which transformers' processor asks for

test/golden/llama4-media/small/ is a checkpoint with random weights in f16, its tokenizer and its processor. small.json beside it: odd images of
internvl/images.json and of media-images.json with the number of their tokens and a digest of the bf16 values of their patches (null: the
processor refuses the image); conversations with their token ids and the tokens that greedy decoding yields. small.safetensors: patches of noise, and
the rows that the tower and the projector make of them.
"""

import hashlib
import json
from importlib.metadata import version
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file
from ocr import byte_tokenizer, draw
from ocr_models import BYTES, Case, cut, joined
from pictured_turns import FILES, greedy_turns, inputs_of, opened
from recipe import Draws, keep

torch.set_num_threads(1)
transformers.utils.logging.disable_progress_bar()
ROOT = Path(__file__).parents[2] / 'test' / 'golden' / 'llama4-media'
GREEDY, SEEDS, MARGIN = 24, 300, 0.002
SIDE, PATCH = 24, 4
SPECIAL = ['<|finetune_right_pad|>', '<|eot|>', '<|begin_of_text|>', '<|header_start|>', '<|header_end|>', '<|image|>', '<|image_start|>', '<|image_end|>',
           '<|patch|>', '<|tile_x_separator|>', '<|tile_y_separator|>']  # fmt: skip
TEMPLATE = (
    "{{- bos_token }}{%- for message in messages %}{{- '<|header_start|>' + message['role'] + '<|header_end|>\n\n' }}"
    "{%- if message['content'] is string %}{{- message['content'] }}{%- else %}{%- for content in message['content'] %}"
    "{%- if content['type'] == 'image' %}{{- '<|image|>' }}{%- elif content['type'] == 'text' %}{{- content['text'] }}{%- endif %}"
    "{%- endfor %}{%- endif %}{{- '<|eot|>' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|header_start|>assistant<|header_end|>\n\n' }}{%- endif %}"
)
TEXT = dict(
    hidden_size=48, intermediate_size=40, intermediate_size_mlp=72, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
    num_local_experts=3, vocab_size=BYTES + len(SPECIAL), max_position_embeddings=2048, no_rope_layers=[1, 0, 1], moe_layers=[1],
    attention_chunk_size=64, floor_scale=32, attn_scale=0.5, rope_parameters=dict(rope_type='default', rope_theta=10000.0),
    bos_token_id=BYTES + 2, eos_token_id=BYTES + 1, pad_token_id=BYTES,
)  # fmt: skip
VISION = dict(
    hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=144, image_size=SIDE, patch_size=PATCH, projector_input_dim=52,
    projector_output_dim=52, vision_output_dim=52, rope_parameters=dict(rope_type='default', rope_theta=100.0),
)  # fmt: skip
CONVERSATIONS = {
    'one': [('user', ['exif-turned', 'Look here.'])],
    'two': [('user', ['palette', 'alpha', 'What differs?'])],
    'turns': [('user', ['large', 'A?']), ('assistant', ['So.']), ('user', ['B?', 'grey'])],
    'text': [('user', ['No picture.'])],
}
TILES = 5


def config():
    made = transformers.Llama4Config(
        text_config=TEXT, vision_config=VISION, image_token_index=BYTES + SPECIAL.index('<|patch|>'), boi_token_index=BYTES + SPECIAL.index('<|image_start|>'),
        eoi_token_index=BYTES + SPECIAL.index('<|image_end|>'), tie_word_embeddings=False,
    )  # fmt: skip
    made._attn_implementation = 'eager'
    return made


def tokenizer():
    made = byte_tokenizer(Case(SPECIAL, {}, None, None, None, None, None))
    made.bos_token = '<|begin_of_text|>'
    return made


def patches_of(pixels):
    return torch.stack([cut(tile, PATCH) for tile in pixels])


def seen(processor, image):
    """What the processor makes of an image by itself; null: it throws."""
    try:
        out = processor(text='<|image|>', images=[image], return_tensors='pt', add_special_tokens=False)
    except (ValueError, ZeroDivisionError, RuntimeError):
        return None
    patches = patches_of(out['pixel_values'].to(torch.bfloat16))
    bits = patches.view(torch.int16).numpy().tobytes()
    return dict(tokens=len(out['input_ids'][0]), sha256=hashlib.sha256(bits).hexdigest())


@torch.no_grad()
def main():
    model = transformers.Llama4ForConditionalGeneration(config()).eval().float()
    images = transformers.Llama4ImageProcessor(size=dict(height=SIDE, width=SIDE), max_patches=6)
    processor = transformers.Llama4Processor(images, tokenizer(), patch_size=PATCH, chat_template=TEMPLATE)
    given = {title: inputs_of(processor, turns) for title, turns in CONVERSATIONS.items()}
    for inputs in given.values():
        if 'pixel_values' in inputs:
            inputs['pixel_values'] = inputs['pixel_values'].float()
        inputs.pop('aspect_ratios', None)
    for seed in range(SEEDS):
        draws = draw(model, seed)
        listed, margin = greedy_turns(model, given, CONVERSATIONS, GREEDY, MARGIN)
        if listed:
            break
    print(f'seed {seed}: margin {margin:.4f}', flush=True)
    folder = ROOT / 'small'
    folder.mkdir(parents=True, exist_ok=True)
    model.generation_config.eos_token_id = None
    processor.save_pretrained(folder)
    model.config.dtype, model.config.architectures = 'float16', [type(model).__name__]
    model.config.save_pretrained(folder)
    tensors = {name: value.half().contiguous() for name, value in model.state_dict().items()}
    save_file(tensors, folder / 'model.safetensors')
    keep(folder / 'model.safetensors', draws)
    inputs = Draws(7)
    count = (SIDE // PATCH) ** 2
    patches = inputs('patches', (TILES, count, 3 * PATCH**2), 1)
    pixels = torch.stack([joined(one, SIDE // PATCH, SIDE // PATCH, PATCH) for one in patches])
    rows = model.multi_modal_projector(model.get_image_features(pixels).last_hidden_state).flatten(0, 1)
    save_file({'patches': patches, 'rows': rows.contiguous()}, ROOT / 'small.safetensors')
    keep(ROOT / 'small.safetensors', inputs, pool=ROOT / 'outputs.safetensors')
    stored = json.loads((ROOT.parent / 'media-images.json').read_text())
    made = {'command': 'python scripts/reference/llama4_media.py', 'made_with': {one: version(one) for one in ('torch', 'torchvision', 'transformers', 'pillow')}}
    document = made | dict(
        margin=round(margin, 4),
        images={name: seen(processor, opened(one['file'])) for name, one in FILES.items()},
        media_images={one['name']: seen(processor, opened(one['file'])) for one in stored if 'rgb' in one},
        conversations=listed,
    )
    (ROOT / 'small.json').write_text(json.dumps(document, indent=1) + '\n')


if __name__ == '__main__':
    main()
