"""Makes tiny checkpoints of classes that read images and videos, and what transformers computes with them:

    python scripts/reference/media.py [NAME…]

test/golden/media/<name>/ is a checkpoint with random weights, its tokenizer, its chat template and the configuration of its processor.
golden.json beside it has conversations, the ids that the processor makes of them, and 24 greedy tokens; golden.safetensors has the images,
their pixel values and the rows of the tower. Weights are drawn until every greedy token leads by a margin.
"""

import json
import sys
from pathlib import Path

import torch
import transformers
from PIL import Image
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from media_cases import CASES, SIZES, picture
from media_models import BYTES, MODELS, SPECIALS
from recipe import Draws, keep

ROOT = Path(__file__).parents[2] / 'test' / 'golden' / 'media'
GREEDY, MARGIN, SEEDS = 24, 0.02, 400
PLACEHOLDER = BYTES + SPECIALS.index('<|image_pad|>')
# Experts as published, all of a layer in one tensor: [experts, rows, inputs] by rows, [experts, inputs, rows] by columns.
FUSED = {'qwen3-vl-moe': 'columns', 'qwen3-5-moe': 'rows'}
TEMPLATE = (
    '{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.content is string %}{{ m.content }}{% else %}{% for c in m.content %}'
    "{% if c.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% elif c.type == 'video' %}"
    "<|vision_start|><|video_pad|><|vision_end|>{% else %}{{ c.text }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    '{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}'
)


def tokenizer():
    """One token per byte, then the special tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in SPECIALS])
    outer = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token='<|im_end|>', pad_token='<|endoftext|>')
    outer.chat_template = TEMPLATE
    for name in ('image', 'video'):
        setattr(outer, f'{name}_token', f'<|{name}_pad|>')
        setattr(outer, f'{name}_token_id', outer.convert_tokens_to_ids(f'<|{name}_pad|>'))
    return outer


def draw(model, seed):
    """Standard deviations by role, so that attention is not flat; stored in f16 and computed with what is stored."""
    draws = Draws(seed)
    for name, weight in model.named_parameters():
        if weight.dim() == 1:
            is_norm = ('norm' in name or 'ln_q' in name) and 'bias' not in name
            weight.data = draws(name, weight.shape, 0.2, 1.0 if is_norm else 0.0)
        else:
            gain = 2.0 if 'q_proj' in name or 'k_proj' in name or 'lm_head' in name else 1.0
            weight.data = draws(name, weight.shape, 1 if 'embed_tokens' in name else gain / weight[0].numel() ** 0.5)
        weight.data = weight.data.half().float()
    return draws


def inputs_of(case, images, processor, words):
    """The processor's own expansion: each placeholder becomes as many tokens as there are cells."""
    shown = [Image.fromarray(images[i].numpy()) for i in case['images']]
    text = words.apply_chat_template(messages_of(case), tokenize=False, add_generation_prompt=True)
    given = processor(text=[text], images=shown or None, return_tensors='pt')
    return text, given


def messages_of(case):
    order = iter(case['images'])
    return [
        {
            'role': message['role'],
            'content': message['content']
            if isinstance(message['content'], str)
            else [{'type': 'image', 'image': next(order)} if part == 'image' else {'type': 'text', 'text': part} for part in message['content']],
        }
        for message in case['messages']
    ]


def greedy(model, given):
    """The tokens, and the least lead of a token over the second best."""
    made = model.generate(**given, max_new_tokens=GREEDY, min_new_tokens=GREEDY, do_sample=False, output_logits=True,
                          return_dict_in_generate=True, pad_token_id=0, eos_token_id=None)
    leads = [logits[0].topk(2).values for logits in made.logits]
    return made.sequences[0, given['input_ids'].shape[1] :].tolist(), min(float(a - b) for a, b in leads)


def make(name):
    build = MODELS[name]
    folder = ROOT / name
    folder.mkdir(parents=True, exist_ok=True)
    words = tokenizer()
    model, image_processor, processor_class = build(len(words))
    model = model.eval().float()
    processor = processor_class(words, image_processor)
    images = [picture(i, *size) for i, size in enumerate(SIZES)]
    given = [inputs_of(case, images, processor, words) for case in CASES]
    best = (-1.0, None)
    for seed in range(SEEDS):
        draw(model, seed)
        found = []
        for _, one in given:
            tokens, lead = greedy(model, one)
            found.append((tokens, lead))
            if lead < max(best[0], 1e-3):
                break
        lead = min(lead for _, lead in found)
        if len(found) == len(given) and lead > best[0]:
            varied = min(len(set(tokens)) for tokens, _ in found)
            print(f'{name} seed {seed}: lead {lead:.3f}, {varied} different tokens', flush=True)
            shows = any(PLACEHOLDER in tokens for tokens, _ in found)  # interfaces give its text in different ways
            if varied >= 6 and not shows:
                best = (lead, seed, [tokens for tokens, _ in found])
        if best[0] > MARGIN:
            break
    draws = draw(model, best[1])
    tensors = {}
    for i, image in enumerate(images):
        seen = image_processor(images=[Image.fromarray(image.numpy())], return_tensors='pt')
        tensors |= {f'image.{i}': image, f'pixels.{i}': seen['pixel_values'], f'grid.{i}': seen['image_grid_thw'][0].long()}
        with torch.no_grad():
            rows = model.model.get_image_features(seen['pixel_values'], seen['image_grid_thw'])
        tensors[f'rows.{i}'] = torch.cat(list(rows.pooler_output))
        for at, deep in enumerate(getattr(rows, 'deepstack_features', None) or []):
            tensors[f'deep.{i}.{at}'] = torch.cat(list(deep)) if isinstance(deep, (tuple, list)) else deep
    save_file({key: value.contiguous() for key, value in tensors.items()}, folder / 'golden.safetensors')
    keep(folder / 'golden.safetensors', Draws(0), pool=ROOT / 'outputs.safetensors')
    cases = [
        dict(case, ids=one['input_ids'][0].tolist(), greedy=tokens) for case, (_, one), tokens in zip(CASES, given, best[2], strict=True)
    ]
    (folder / 'golden.json').write_text(json.dumps({'lead': round(best[0], 4), 'cases': cases}) + '\n')
    model.half().save_pretrained(folder)
    if name in FUSED:
        tensors = {key: value.mT if FUSED[name] == 'columns' and '.experts.' in key else value for key, value in model.state_dict().items()}
        save_file({key: value.contiguous() for key, value in tensors.items()}, folder / 'model.safetensors')
    keep(folder / 'model.safetensors', draws)
    words.save_pretrained(folder)
    image_processor.save_pretrained(folder)
    for extra in ('generation_config.json', 'chat_template.jinja'):
        (folder / extra).unlink(missing_ok=True)
    config = json.loads((folder / 'tokenizer_config.json').read_text())
    (folder / 'tokenizer_config.json').write_text(json.dumps(config | {'chat_template': TEMPLATE}, indent=2) + '\n')


if __name__ == '__main__':
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    for name in sys.argv[1:] or MODELS:
        make(name)
