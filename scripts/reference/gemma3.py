"""Makes tiny checkpoints of Gemma 3 with a tower, and what transformers computes with them:

    python scripts/reference/gemma3.py        with torchvision, which transformers' processor class asks for

test/golden/gemma3-media/<name>/ is a checkpoint with random weights in f16, its tokenizer and its processor: whole in the files of
transformers 5, scan in those of transformers 4 and with crops of long images. <name>.json beside it: odd images of internvl/images.json and of
media-images.json with the number of their tiles and a digest of their bytes; conversations with their token ids and the tokens that greedy
decoding yields. <name>.safetensors: pixels of noise, and the rows that the tower makes of them.
"""

import hashlib
import json
from importlib.metadata import version
from pathlib import Path

import numpy
import torch
import transformers
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil
from pictured_turns import FILES, greedy_turns, inputs_of, opened
from recipe import Draws, keep

torch.set_num_threads(1)
transformers.utils.logging.disable_progress_bar()
ROOT = Path(__file__).parents[2] / 'test' / 'golden' / 'gemma3-media'
GREEDY, SEEDS, MARGIN = 24, 300, 0.004
SPECIAL = ['<pad>', '<eos>', '<bos>', '<start_of_turn>', '<end_of_turn>', '<start_of_image>', '<end_of_image>', '<image_soft_token>']
BYTES = 256
IDS = {text: BYTES + i for i, text in enumerate(SPECIAL)}
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ '<start_of_turn>' + ('model' if message['role'] == 'assistant' else message['role']) + '\n' }}"
    "{% if message['content'] is string %}{{ message['content'] | trim }}{% else %}{% for item in message['content'] %}"
    "{% if item['type'] == 'image' %}{{ '<start_of_image>' }}{% elif item['type'] == 'text' %}{{ item['text'] | trim }}{% endif %}{% endfor %}{% endif %}"
    "{{ '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
)
TEXT = dict(hidden_size=44, intermediate_size=56, num_attention_heads=2, num_key_value_heads=1, head_dim=16, query_pre_attn_scalar=16,
            vocab_size=BYTES + len(SPECIAL) + 5, max_position_embeddings=1024, num_hidden_layers=3, sliding_window=13,
            layer_types=['sliding_attention', 'full_attention', 'sliding_attention'], bos_token_id=IDS['<bos>'], eos_token_id=IDS['<eos>'],
            pad_token_id=IDS['<pad>'])  # fmt: skip
# Of 5 × 5 tokens, more than the window and more than the smallest step has rows.
TOKENS, SIDE, PATCH = 25, 60, 6
VISION = dict(model_type='siglip_vision_model', hidden_size=36, intermediate_size=52, num_hidden_layers=2, num_attention_heads=3, image_size=SIDE,
              patch_size=PATCH, vision_use_head=False)  # fmt: skip
SCAN = dict(do_pan_and_scan=True, pan_and_scan_min_crop_size=9, pan_and_scan_max_num_crops=3, pan_and_scan_min_ratio_to_activate=1.3)
CONVERSATIONS = {
    'one': [('user', ['exif-turned', 'Look here.'])],
    'two': [('user', ['palette', 'alpha', 'What differs?'])],
    'turns': [('user', ['four-to-one', 'A?']), ('assistant', ['So.']), ('user', ['B?', 'one-pixel-wide'])],
    'text': [('user', ['No picture.'])],
}


def byte_tokenizer():
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token='<bos>', eos_token='<eos>', pad_token='<pad>')
    fast.add_special_tokens({'additional_special_tokens': SPECIAL})
    for name, text in dict(boi='<start_of_image>', eoi='<end_of_image>', image='<image_soft_token>').items():
        setattr(fast, f'{name}_token', text)
        setattr(fast, f'{name}_token_id', IDS[text])
    return fast


def draw(model, seed):
    """Standard deviations by role, so that attention is not flat; stored in f16 and computed with what is stored."""
    draws = Draws(seed)
    for name, weight in model.named_parameters():
        if weight.dim() == 1:
            is_plain = 'layer_norm' in name or 'layernorm' in name and 'vision' in name
            weight.data = draws(name, weight.shape, 0.2, 1.0 if is_plain and 'bias' not in name else 0.0)
        elif 'embed_tokens' in name:
            # The head is tied to it.
            weight.data = draws(name, weight.shape, 0.05)
        elif 'mm_input_projection' in name:
            weight.data = draws(name, weight.shape, 2.0 / weight.shape[0] ** 0.5)
        elif 'position_embedding' in name:
            weight.data = draws(name, weight.shape, 1)
        else:
            gain = 2.0 if 'q_proj' in name or 'k_proj' in name else 1.0
            weight.data = draws(name, weight.shape, gain / weight[0].numel() ** 0.5)
        weight.data = weight.data.half().float()
    model.tie_weights()
    return draws


def scan_of(processor):
    """The crops that the file of the image processor asks for, which the processor around it would turn off."""
    return {key: getattr(processor.image_processor, key) for key in SCAN} if processor.image_processor.do_pan_and_scan else {}


def seen(processor, image):
    """What the processor makes of an image by itself; null: it throws."""
    try:
        out = processor(text='<start_of_image>', images=[image], return_tensors='np', images_kwargs=scan_of(processor))
    except ZeroDivisionError:
        return None
    pixels = out['pixel_values']
    whole = (pixels.astype(numpy.float64) * 0.5 + 0.5) * 255
    assert abs(whole - whole.round()).max() < 1e-2
    made = whole.round().astype(numpy.uint8)
    return dict(tiles=len(made), tokens=len(out['input_ids'][0]), sha256=hashlib.sha256(made.tobytes()).hexdigest())


def images(processor):
    stored = json.loads((ROOT.parent / 'media-images.json').read_text())
    others = {case['name']: seen(processor, opened(case['file'])) for case in stored if 'rgb' in case}
    return {'images': {name: seen(processor, opened(one['file'])) for name, one in FILES.items()}, 'media_images': others}


@torch.no_grad()
def make(name, settings):
    ids = dict(boi_token_index=IDS['<start_of_image>'], eoi_token_index=IDS['<end_of_image>'], image_token_index=IDS['<image_soft_token>'])
    config = transformers.Gemma3Config(text_config=transformers.Gemma3TextConfig(**TEXT), vision_config=VISION, mm_tokens_per_image=TOKENS, **ids)
    config._attn_implementation = 'eager'
    model = transformers.Gemma3ForConditionalGeneration(config).eval().float()
    image_processor = Gemma3ImageProcessorPil(size=dict(height=SIDE, width=SIDE), **settings)
    processor = transformers.Gemma3Processor(image_processor, byte_tokenizer(), chat_template=TEMPLATE, image_seq_length=TOKENS)
    given = {title: inputs_of(processor, turns, types=True, images_kwargs=scan_of(processor)) for title, turns in CONVERSATIONS.items()}
    best = (None, -1.0, 0)
    for seed in range(SEEDS):
        draw(model, seed)
        listed, margin = greedy_turns(model, given, CONVERSATIONS, GREEDY)
        if margin > best[1] and listed:
            best = (listed, margin, seed)
            print(f'{name} seed {seed}: margin {margin:.4f}', flush=True)
        if best[1] > MARGIN:
            break
    draws = draw(model, best[2])
    folder = ROOT / name
    folder.mkdir(parents=True, exist_ok=True)
    processor.save_pretrained(folder)
    model.config.dtype, model.config.architectures = 'float16', [type(model).__name__]
    model.config.save_pretrained(folder)
    tensors = {key: value.half().contiguous() for key, value in model.state_dict().items() if key != 'lm_head.weight'}
    if name == 'scan':
        older_files(folder, tensors)
    else:
        save_file(tensors, folder / 'model.safetensors')
    keep(folder / 'model.safetensors', draws)
    inputs = Draws(7)
    pixels = inputs('pixels', (3, 3, SIDE, SIDE), 1)
    rows = model.model.get_image_features(pixels).pooler_output.flatten(0, 1)
    save_file({'pixels': pixels, 'rows': rows.contiguous()}, ROOT / f'{name}.safetensors')
    keep(ROOT / f'{name}.safetensors', inputs, pool=ROOT / 'outputs.safetensors')
    made = {'command': 'python scripts/reference/gemma3.py', 'made_with': {one: version(one) for one in ('torch', 'transformers', 'pillow')}}
    document = made | {'margin': round(best[1], 4)} | images(processor) | {'conversations': best[0]}
    (ROOT / f'{name}.json').write_text(json.dumps(document, indent=1) + '\n')


def older_files(folder, tensors):
    """Names of tensors and of processors' files before transformers 5."""

    def older(key):
        if key.startswith('model.language_model.'):
            return key.replace('model.language_model.', 'language_model.model.')
        return key.removeprefix('model.').replace('vision_tower.', 'vision_tower.vision_model.')

    save_file({older(key): value for key, value in tensors.items()}, folder / 'model.safetensors')
    config = json.loads((folder / 'processor_config.json').read_text())
    image = config.pop('image_processor')
    (folder / 'processor_config.json').write_text(json.dumps(config, indent=2) + '\n')
    (folder / 'preprocessor_config.json').write_text(json.dumps(image | {'do_convert_rgb': None}, indent=2) + '\n')


if __name__ == '__main__':
    ROOT.mkdir(parents=True, exist_ok=True)
    for name, settings in dict(whole={}, scan=SCAN).items():
        make(name, settings)
