"""Makes tiny checkpoints of Idefics3 and SmolVLM, and what transformers computes with them:

    python scripts/reference/idefics3.py        with torchvision and num2words, for SmolVLM's processor

test/golden/idefics3/<name>/ is a checkpoint with random weights in f32, its tokenizer and its processor. <name>.json beside it: odd images of
internvl/images.json and of media-images.json with the number of tiles and a digest of their bytes; conversations with their token ids and
the tokens that greedy decoding yields. <name>.safetensors: tiles of noise, and the rows that the tower makes of them.
"""

import base64
import hashlib
import json
import zlib
from importlib.metadata import version
from pathlib import Path

import torch
import transformers
from PIL import Image
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.smolvlm.image_processing_pil_smolvlm import SmolVLMImageProcessorPil

from internvl import IMAGES, opened
from internvl_checkpoints import TEXT
from recipe import Draws, keep

torch.set_num_threads(1)
transformers.utils.logging.disable_progress_bar()
ROOT = Path(__file__).parents[2] / 'test' / 'golden' / 'idefics3'
SIDE, PATCH, MERGE = 24, 4, 3
ROWS = (SIDE // PATCH // MERGE) ** 2
GREEDY = 24
GRID = [f'<row_{row}_col_{column}>' for row in range(1, 7) for column in range(1, 7)]
SPECIAL = ['<|im_start|>', '<end_of_utterance>', '<fake_token_around_image>', '<image>', '<global-img>', *GRID]
IMAGE = 256 + SPECIAL.index('<image>')
TEMPLATE = (
    "<|im_start|>{% for message in messages %}{{ message['role'] | capitalize }}{% if message['content'][0]['type'] == 'image' %}{{ ':' }}{% else %}"
    "{{ ': ' }}{% endif %}{% for line in message['content'] %}{% if line['type'] == 'text' %}{{ line['text'] }}"
    "{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}<end_of_utterance>\n{% endfor %}"
    "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)
VISION = dict(image_size=SIDE, patch_size=PATCH, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=3)
LLAMA = dict(TEXT, model_type='llama', vocab_size=256 + len(SPECIAL) + 4, eos_token_id=257, pad_token_id=256)
CLASSES = {
    'idefics3': (transformers.Idefics3Config, transformers.Idefics3ForConditionalGeneration, Idefics3ImageProcessorPil, False),
    'smolvlm': (transformers.SmolVLMConfig, transformers.SmolVLMForConditionalGeneration, SmolVLMImageProcessorPil, True),
}
SETTINGS = dict(size=dict(longest_edge=3 * SIDE - 5), max_image_size=dict(longest_edge=SIDE))
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
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token='<end_of_utterance>', pad_token='<|im_start|>')
    fast.add_special_tokens({'additional_special_tokens': SPECIAL})
    return fast


def draw(model, tied, seed):
    draws = Draws(seed)
    for name, weight in model.named_parameters():
        if weight.dim() == 1:
            weight.data = draws(name, weight.shape, 0.3, 1.0 if 'norm' in name and 'bias' not in name else 0.0)
        elif 'embed_tokens' in name or 'position_embedding' in name:
            weight.data = draws(name, weight.shape, 0.1 if tied and 'embed_tokens' in name else 1)
        else:
            gain = 2.0 if 'q_proj' in name or 'k_proj' in name else 1.0
            weight.data = draws(name, weight.shape, gain / weight[0].numel() ** 0.5)
    if tied:
        model.tie_weights()
    return draws


def bytes_of(pixels, mask):
    """Bytes of the tiles that are no padding."""
    whole = ((pixels * 0.5 + 0.5) * 255).round()
    assert (whole / 255 - 0.5).div(0.5).sub(pixels)[mask.unsqueeze(1).expand_as(pixels) > 0].abs().max() < 1e-5
    return whole.byte()


def tiles_of(processor, image):
    out = processor(image, return_tensors='pt')
    made = bytes_of(out['pixel_values'][0], out['pixel_attention_mask'][0])
    return {'tiles': len(made), 'sha256': hashlib.sha256(made.numpy().tobytes()).hexdigest()}


def images(processor):
    listed = {name: tiles_of(processor, opened(file)) for name, (file, _) in IMAGES.items()}
    others = {}
    for case in json.loads((ROOT.parent / 'media-images.json').read_text()):
        if 'rgb' in case:
            image = Image.frombytes('RGB', tuple(case['size']), zlib.decompress(base64.b64decode(case['rgb'])))
            others[case['name']] = tiles_of(processor, image)
    return {'images': listed, 'media_images': others}


def conversations(model, processor):
    listed = {}
    for name, turns in CONVERSATIONS.items():
        parts = [
            dict(role=role, content=[dict(type='image') if part in IMAGES else dict(type='text', text=part) for part in content])
            for role, content in turns
        ]
        text = processor.apply_chat_template(parts, add_generation_prompt=True, tokenize=False)
        shown = [opened(IMAGES[part][0]) for _, content in turns for part in content if part in IMAGES]
        inputs = processor(text=text, images=[shown] if shown else None, return_tensors='pt')
        out = model.generate(**inputs, do_sample=False, max_new_tokens=GREEDY, output_logits=True, return_dict_in_generate=True, eos_token_id=None)
        prompt = inputs['input_ids'][0]
        tokens = out.sequences[0, prompt.numel() :]
        rows = torch.cat(out.logits)
        best = rows.topk(2).values
        margin = ((best[:, 0] - best[:, 1]) / rows.abs().amax(-1)).min().item()
        print(f'{name:8} {prompt.numel()} tokens, {len(set(tokens.tolist()))} different of {GREEDY}, narrowest margin {margin:.4f}')
        listed[name] = dict(turns=turns, ids=prompt.tolist(), greedy=tokens.tolist(), margin=round(margin, 4))
    return listed


@torch.no_grad()
def make(name, seed):
    config_class, model_class, image_class, tied = CLASSES[name]
    text = dict(LLAMA, tie_word_embeddings=tied)
    config = config_class(text_config=text, vision_config=VISION, scale_factor=MERGE, image_token_id=IMAGE, tie_word_embeddings=tied)
    config._attn_implementation = 'eager'
    model = model_class(config).eval().float()
    draws = draw(model, tied, seed)
    image_processor = image_class(**SETTINGS)
    if name == 'smolvlm':
        video = transformers.models.smolvlm.video_processing_smolvlm.SmolVLMVideoProcessor(size=dict(longest_edge=SIDE), max_image_size=dict(longest_edge=SIDE))
        processor = transformers.SmolVLMProcessor(image_processor, byte_tokenizer(), video, image_seq_len=ROWS, chat_template=TEMPLATE)
    else:
        processor = transformers.Idefics3Processor(image_processor, byte_tokenizer(), image_seq_len=ROWS, chat_template=TEMPLATE)
    folder = ROOT / name
    model.save_pretrained(folder)
    keep(folder / 'model.safetensors', draws)
    processor.save_pretrained(folder)
    (folder / 'generation_config.json').unlink(missing_ok=True)
    inputs = Draws(7)
    pixels = inputs('pixels', (5, 3, SIDE, SIDE), 1)
    rows = model.model.get_image_features(pixels[None]).pooler_output
    rows = torch.cat(list(rows)) if isinstance(rows, (list, tuple)) else rows.flatten(0, -2)
    save_file({'pixels': pixels, 'rows': rows.contiguous()}, ROOT / f'{name}.safetensors')
    keep(ROOT / f'{name}.safetensors', inputs, pool=ROOT / 'outputs.safetensors')
    made = {'command': 'python scripts/reference/idefics3.py', 'made_with': {one: version(one) for one in ('torch', 'transformers', 'pillow')}}
    document = made | images(image_processor) | {'conversations': conversations(model, processor)}
    (ROOT / f'{name}.json').write_text(json.dumps(document, indent=2) + '\n')


if __name__ == '__main__':
    ROOT.mkdir(parents=True, exist_ok=True)
    make('idefics3', 55)
    make('smolvlm', 28)
