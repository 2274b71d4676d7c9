"""Tiny InternVL checkpoints with random weights, each in the layout of transformers and in the one of its makers; internvl.py writes them."""

import json
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil
from transformers.models.internvl.video_processing_internvl import InternVLVideoProcessor
from recipe import Draws, keep

ROOT = Path(__file__).parents[2] / 'test' / 'golden' / 'internvl'
SIDE, PATCH = 24, 6
SPECIAL = ['<|endoftext|>', '<|im_start|>', '<|im_end|>', '<img>', '</img>', '<IMG_CONTEXT>', '<video>']
VOCABULARY = 256 + len(SPECIAL) + 5
TEXT = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, vocab_size=VOCABULARY,
            max_position_embeddings=2048, rope_parameters=dict(rope_type='default', rope_theta=10000.0), eos_token_id=258, bos_token_id=None, pad_token_id=256)
VISION = dict(image_size=[SIDE, SIDE], patch_size=[PATCH, PATCH])
CHECKPOINTS = {
    # InternViT-300M in small, before Qwen2
    'qwen2': dict(
        text=dict(TEXT, model_type='qwen2'),
        vision=dict(VISION, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=3, attention_bias=True),
        tied=False,
    ),
    # InternViT-6B in small, before Qwen3
    'qwen3': dict(
        text=dict(TEXT, model_type='qwen3', head_dim=16),
        vision=dict(VISION, hidden_size=20, intermediate_size=44, num_hidden_layers=3, num_attention_heads=5, norm_type='rms_norm',
                    use_qk_norm=True),
        tied=True,
    ),
}
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' }}"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for content in message['content'] %}"
    "{% if content['type'] == 'image' %}{{ '<IMG_CONTEXT>\n' }}{% elif content['type'] == 'video' %}{{ '<video>\n' }}"
    "{% elif content['type'] == 'text' %}{{ content['text'] }}{% endif %}{% endfor %}{% endif %}{{ '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
ORIGINAL_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
PROCESSOR = dict(size=dict(height=SIDE, width=SIDE), image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225])


def byte_tokenizer():
    """A token for each byte, then the special ones."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    more = dict(start_image_token='<img>', end_image_token='</img>', context_image_token='<IMG_CONTEXT>', video_token='<video>')
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token='<|im_end|>', pad_token='<|endoftext|>')
    fast.add_special_tokens({'additional_special_tokens': SPECIAL})
    return transformers.PreTrainedTokenizerFast(tokenizer_object=fast.backend_tokenizer, eos_token='<|im_end|>', pad_token='<|endoftext|>',
                                                extra_special_tokens=more)


def draw(model, seed):
    """Standard deviations by role, so that attention is not flat and pictures move the logits."""
    draws = Draws(seed)
    for name, weight in model.named_parameters():
        if weight.dim() == 1:
            weight.data = draws(name, weight.shape, 0.3, 1.0 if 'norm' in name and 'bias' not in name or 'lambda' in name else 0.0)
        elif 'embed_tokens' in name and model.config.tie_word_embeddings:
            weight.data = draws(name, weight.shape, 0.1)  # a tied head would repeat the last token
        elif 'embed_tokens' in name or 'embeddings.' in name and 'projection' not in name:
            weight.data = draws(name, weight.shape, 1)
        else:
            gain = 2.0 if 'q_proj' in name or 'k_proj' in name or 'projection.' in name else 1.0
            weight.data = draws(name, weight.shape, gain / weight[0].numel() ** 0.5)
    return draws


def build(case, seed):
    config = transformers.InternVLConfig(text_config=case['text'], vision_config=case['vision'], image_token_id=256 + SPECIAL.index('<IMG_CONTEXT>'),
                                         image_seq_length=4, tie_word_embeddings=case['tied'])
    config._attn_implementation = 'eager'
    model = transformers.InternVLForConditionalGeneration(config).eval().float()
    draws = draw(model, seed)
    if case['tied']:
        model.tie_weights()
    return model, draws


def original_state(state, layers, prefix='model.'):
    """The same tensors by the names of InternVLChatModel; queries, keys and values become one tensor."""
    renamed = {}
    words = (
        (f'{prefix}language_model.', 'language_model.model.'), ('lm_head.', 'language_model.lm_head.'),
        (f'{prefix}vision_tower.', 'vision_model.'), ('.cls_token', '.class_embedding'), ('.position_embeddings', '.position_embedding'),
        ('.patch_embeddings.projection.', '.patch_embedding.'), ('.encoder.layer.', '.encoder.layers.'),
        ('.attention.projection_layer.', '.attn.proj.'), ('.attention.', '.attn.'), ('.layernorm_before.', '.norm1.'),
        ('.layernorm_after.', '.norm2.'), ('.lambda_1', '.ls1'), ('.lambda_2', '.ls2'),
        (f'{prefix}multi_modal_projector.layer_norm.', 'mlp1.0.'), (f'{prefix}multi_modal_projector.linear_1.', 'mlp1.1.'),
        (f'{prefix}multi_modal_projector.linear_2.', 'mlp1.3.'),
    )
    for name, tensor in state.items():
        if '.language_model.' not in name:
            for there, here in words:
                name = name.replace(there, here)
        else:
            name = name.replace(*words[0])
        renamed[name] = tensor
    for i in range(layers):
        for kind in ('weight', 'bias'):
            parts = [f'vision_model.encoder.layers.{i}.attn.{part}_proj.{kind}' for part in 'qkv']
            if parts[0] in renamed:
                renamed[f'vision_model.encoder.layers.{i}.attn.qkv.{kind}'] = torch.cat([renamed.pop(part) for part in parts])
    return renamed


def original_config(case):
    text, vision = case['text'], case['vision']
    rope = text['rope_parameters']
    language = {key: value for key, value in text.items() if key != 'rope_parameters'}
    classes = {'qwen2': 'Qwen2ForCausalLM', 'qwen3': 'Qwen3ForCausalLM'}
    code = 'modeling_internvl_chat.InternVLChatModel'
    return dict(
        architectures=['InternVLChatModel'],
        auto_map=dict(AutoConfig='configuration_internvl_chat.InternVLChatConfig', AutoModel=code, AutoModelForCausalLM=code),
        model_type='internvl_chat', downsample_ratio=0.5, dynamic_image_size=True, force_image_size=SIDE, use_thumbnail=True,
        max_dynamic_patch=12, min_dynamic_patch=1, pad2square=False, ps_version='v2', select_layer=-1, template='internvl2_5', torch_dtype='float32',
        llm_config=dict(language, architectures=[classes[text['model_type']]], rope_theta=rope['rope_theta'], tie_word_embeddings=case['tied']),
        vision_config=dict(
            architectures=['InternVisionModel'], model_type='intern_vit_6b', hidden_act='gelu', image_size=SIDE, patch_size=PATCH, num_channels=3,
            hidden_size=vision['hidden_size'], intermediate_size=vision['intermediate_size'], num_hidden_layers=vision['num_hidden_layers'],
            num_attention_heads=vision['num_attention_heads'], norm_type=vision.get('norm_type', 'layer_norm'), layer_norm_eps=1e-6,
            qk_normalization=vision.get('use_qk_norm', False), qkv_bias=vision.get('attention_bias', False),
        ),
    )


def checkpoint(name, seed):
    case = CHECKPOINTS[name]
    model, draws = build(case, seed)
    tokenizer = byte_tokenizer()
    processor = transformers.InternVLProcessor(
        image_processor=GotOcr2ImageProcessorPil(**PROCESSOR), tokenizer=tokenizer, video_processor=InternVLVideoProcessor(**PROCESSOR),
        image_seq_length=4, chat_template=TEMPLATE)
    model.save_pretrained(ROOT / name)
    keep(ROOT / name / 'model.safetensors', draws)
    processor.save_pretrained(ROOT / name)
    (ROOT / name / 'generation_config.json').unlink(missing_ok=True)
    other = ROOT / f'{name}-original'
    other.mkdir(exist_ok=True)
    state = {key: value.contiguous() for key, value in model.state_dict().items() if not (case['tied'] and key == 'lm_head.weight')}
    save_file(original_state(state, case['vision']['num_hidden_layers']), other / 'model.safetensors', {'format': 'pt'})
    keep(other / 'model.safetensors', draws)
    (other / 'config.json').write_text(json.dumps(original_config(case), indent=2) + '\n')
    tokenizer.chat_template = None
    tokenizer.save_pretrained(other)
    settings = json.loads((other / 'tokenizer_config.json').read_text())
    (other / 'tokenizer_config.json').write_text(json.dumps(settings | {'chat_template': ORIGINAL_TEMPLATE}, indent=2) + '\n')
    return model, processor
