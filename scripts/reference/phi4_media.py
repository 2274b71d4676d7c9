"""Makes tiny checkpoints of Phi-4-multimodal, and what transformers computes with them:

    python scripts/reference/phi4_media.py        with torchvision, which transformers' class of its image processor asks for

test/golden/phi4-media/small/ is a checkpoint with random weights in f16 as transformers saves it, its tokenizer, its processors, and the LoRAs of
vision and speech in folders of PEFT; published/ holds the same values as the published repository has them, with the LoRAs among the weights.
small.json beside them: sounds as WAV files; odd images of internvl/images.json with the numbers of their tokens; conversations with their token ids
and the tokens that greedy decoding yields, with the LoRA that their media ask for merged into the weights. outputs.safetensors: patches of an image
and the rows that the tower makes of them; features of a sound and its rows, those without and those beside images; rows of a sound of two windows.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy
import torch
import transformers
from audio import sound, wav
from pictured_turns import FILES, greedy_turns, opened
from recipe import Draws, keep
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

torch.set_num_threads(1)
transformers.utils.logging.set_verbosity_error()
ROOT = Path(__file__).parents[2] / 'test' / 'golden' / 'phi4-media'
GREEDY, SEEDS, MARGIN = 16, 300, 0.004
BYTES = 256
SPECIAL = ['<|endoftext|>', '<|user|>', '<|assistant|>', '<|end|>', '<|image|>', '<|audio|>']
IDS = {text: BYTES + i for i, text in enumerate(SPECIAL)}
PUBLISHED = {'<|image|>': '<|endoftext10|>', '<|audio|>': '<|endoftext11|>'}
SIDE, PATCH, CROPS, HIDDEN = 56, 14, 6, 48
TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' }}{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for item in message['content'] %}{% if item['type'] == 'image' %}{{ '<|image|>' }}{% elif item['type'] == 'audio' %}{{ '<|audio|>' }}"
    "{% elif item['type'] == 'text' %}{{ item['text'] }}{% endif %}{% endfor %}{% endif %}{{ '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
PLAIN_TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% else %}{{ eos_token }}{% endif %}"
)
VISION = dict(
    hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=2, image_size=SIDE, crop_size=SIDE, patch_size=PATCH,
    image_token_id=IDS['<|image|>'],
)  # fmt: skip
AUDIO = dict(
    hidden_size=32, intermediate_size=40, num_blocks=2, num_attention_heads=2, ext_pw_out_channel=32, depthwise_separable_out_channel=32,
    nemo_conv_channels=32, bias_max_distance=8, audio_token_id=IDS['<|audio|>'],
)  # fmt: skip
TEXT = dict(
    vocab_size=BYTES + len(SPECIAL), hidden_size=HIDDEN, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=1024, original_max_position_embeddings=1024, bos_token_id=IDS['<|endoftext|>'], eos_token_id=IDS['<|endoftext|>'],
    pad_token_id=IDS['<|endoftext|>'], tie_word_embeddings=True,
    rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0, 'partial_rotary_factor': 1.0},
)  # fmt: skip
LORAS = {'vision': dict(r=4, alpha=8), 'speech': dict(r=8, alpha=8)}
MATRICES = ('self_attn.qkv_proj', 'self_attn.o_proj', 'mlp.gate_up_proj', 'mlp.down_proj')
SECONDS = [0.7777, 0.3111]
CONVERSATIONS = {
    'image': [('user', ['exif-turned', 'Look.'])],
    'two': [('user', ['palette', 'alpha', 'What differs?'])],
    'heard': [('user', ['sound 0', 'What is heard?'])],
    'both': [('user', ['large', 'sound 1', 'A?']), ('assistant', ['So.']), ('user', ['B?', 'grey'])],
    'text': [('user', ['No picture.'])],
}


def byte_tokenizer():
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    end = SPECIAL[0]
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=end, eos_token=end, pad_token=end)
    fast.add_special_tokens({'additional_special_tokens': SPECIAL})
    return fast


def draw(model, seed):
    """Standard deviations by role, so that attention is not flat; stored in f16 and computed with what is stored."""
    draws = Draws(seed)
    tensors = dict(model.named_parameters()) | dict(model.named_buffers())
    for name in model.state_dict():
        if name not in tensors:  # tied
            continue
        weight, (scale, offset) = tensors[name], (0.2, 0.0)
        if 'global_mean' in name:
            scale, offset = 1.0, 8.0
        elif 'global_invstd' in name:
            scale, offset = 0.02, 0.3
        elif 'norm' in name and name.endswith('weight'):
            offset = 1.0
        elif 'embed_tokens.' in name:
            scale = 0.05
        elif 'position_embedding' in name or 'bias_values' in name or 'extensor' in name:
            scale = 0.5
        elif weight.dim() > 1 and '.glu.b' not in name:
            scale = (2.0 if any(part in name for part in ('qkv_proj', 'q_proj', 'k_proj', 'o_proj', 'down_proj', 'conv')) else 1.0) / weight[0].numel() ** 0.5
        weight.data = draws(name, weight.shape, scale, offset).half().float()
    model.tie_weights()
    loras = {}
    for kind, one in LORAS.items():
        for module in modules(model):
            rows, k = model.get_submodule(module).weight.shape
            a, b = (draws(f'{module}.lora_{factor}.{kind}.weight', shape, shape[1] ** -0.5 * 1.2).half() for factor, shape in (('A', (one['r'], k)), ('B', (rows, one['r']))))
            loras[kind, module] = (a, b)
    return draws, loras


def modules(model):
    return [f'model.layers.{i}.{name}' for i in range(model.config.num_hidden_layers) for name in MATRICES]


class Merged:
    """The model with a LoRA in its weights; kind None: without."""

    def __init__(self, model, loras, kind):
        self.model, self.loras, self.kind = model, loras, kind

    def __enter__(self):
        self.kept = {module: self.model.get_submodule(module).weight.data for module in modules(self.model)}
        for module, weight in self.kept.items() if self.kind else ():
            a, b = self.loras[self.kind, module]
            self.model.get_submodule(module).weight.data = weight + LORAS[self.kind]['alpha'] / LORAS[self.kind]['r'] * (b.float() @ a.float())

    def __exit__(self, *_):
        for module, weight in self.kept.items():
            self.model.get_submodule(module).weight.data = weight


def lora_of(given):
    return 'vision' if 'image_pixel_values' in given else 'speech' if 'audio_input_features' in given else None


def samples(i):
    return sound(i, SECONDS[i]).astype(numpy.float32) / 32768


def images_of(processor, names):
    """What the processor makes of images; its number of tokens is that of 16 rows of the whole image, so it is counted anew."""
    out = processor([opened(FILES[name]['file']).convert('RGB') for name in names], return_tensors='pt')
    cells = SIDE // PATCH // 2
    out['num_img_tokens'] = [int(count) - 256 - 16 + cells**2 + cells for count in out['num_img_tokens']]
    return out


def inputs_of(processors, tokenizer, turns):
    image_processor, extractor = processors
    names = [part for _, content in turns for part in content if part in FILES]
    heard = [part for _, content in turns for part in content if part.startswith('sound ')]
    seen = images_of(image_processor, names) if names else None
    features = extractor([samples(int(part[6:])) for part in heard], sampling_rate=16000, return_tensors='pt') if heard else None
    counts = dict(image=[*seen['num_img_tokens']] if seen else [], audio=features['audio_embed_sizes'].tolist() if heard else [])
    text = tokenizer.apply_chat_template([dict(role=role, content=[part_of(part) for part in content]) for role, content in turns],
        chat_template=TEMPLATE, tokenize=False, add_generation_prompt=True)  # fmt: skip
    for kind, each in counts.items():
        pieces = text.split(f'<|{kind}|>')
        text = pieces[0] + ''.join(f'<|{kind}|>' * count + piece for count, piece in zip(each, pieces[1:], strict=True))
    given = dict(input_ids=tokenizer(text, return_tensors='pt', add_special_tokens=False)['input_ids'])
    given |= {key: seen[key] for key in ('image_pixel_values', 'image_sizes', 'image_attention_mask')} if seen else {}
    given |= {key: features[key] for key in ('audio_input_features', 'audio_embed_sizes')} if heard else {}
    return given


def part_of(part):
    return dict(type='audio') if part.startswith('sound ') else dict(type='image') if part in FILES else dict(type='text', text=part)


def listed_turns(model, loras, given):
    listed, margins = {}, []
    for name, inputs in given.items():
        with Merged(model, loras, lora_of(inputs)):
            try:
                one, margin = greedy_turns(model, {name: inputs}, CONVERSATIONS, GREEDY, MARGIN)
            except (AttributeError, RuntimeError):  # a token of a medium was generated, without a medium
                return None, 0
        if not one or max(one[name]['greedy']) >= BYTES:
            return None, 0
        listed |= one
        margins.append(margin)
    return listed, min(margins)


def outputs(model, processors):
    """Rows of an image and of sounds, in the places of their tokens."""
    image_processor, extractor = processors
    extend, made = model.model.embed_tokens_extend, {}

    def rows(count, token, **inputs):
        ids = torch.full((1, count), token)
        return extend(ids, torch.zeros(1, count, HIDDEN), **inputs)[0].contiguous()

    seen = images_of(image_processor, ['exif-turned'])
    shown = {key: seen[key] for key in ('image_pixel_values', 'image_sizes', 'image_attention_mask')}
    made['pixels'], made['mask'] = (shown[key][0].float().contiguous() for key in ('image_pixel_values', 'image_attention_mask'))
    made['seen'] = rows(seen['num_img_tokens'][0], IDS['<|image|>'], **shown)
    heard = extractor([samples(0)], sampling_rate=16000, return_tensors='pt')
    made['features'] = heard['audio_input_features'][0].contiguous()
    sizes = dict(audio_input_features=heard['audio_input_features'], audio_embed_sizes=heard['audio_embed_sizes'])
    count = heard['audio_embed_sizes'][0].item()
    made['heard'] = rows(count, IDS['<|audio|>'], **sizes)
    made['beside'] = rows(count, IDS['<|audio|>'], **sizes, image_pixel_values=torch.zeros(1))
    made['waves'] = Draws(3)('features', (59, 80), 3.0, 8.0)
    waves = made['waves'].repeat(71, 1)[None, : 8 * 520 - 3]
    made['long'] = rows(520, IDS['<|audio|>'], audio_input_features=waves, audio_embed_sizes=torch.tensor([520]))[488:].contiguous()
    return made


def token_counts(processor):
    counts = {}
    for name in FILES:
        try:
            counts[name] = images_of(processor, [name])['num_img_tokens'][0]
        except ValueError:
            counts[name] = None
    return counts


RENAMED = [
    ('img_projection_up', 'img_projection.0'), ('img_projection_down', 'img_projection.2'), ('global_img_feature_extensor', 'glb_GN'),
    ('sub_img_feature_extensor', 'sub_GN'), ('up_proj_for_speech', 'audio_projection.speech.0'), ('down_proj_for_speech', 'audio_projection.speech.2'),
    ('up_proj_for_vision_speech', 'audio_projection.vision.0'), ('down_proj_for_vision_speech', 'audio_projection.vision.2'),
]  # fmt: skip
ENCODER = [('gate_up_proj', 'net.0.linear'), ('down_proj', 'net.2'), ('q_proj', 'linear_q'), ('k_proj', 'linear_k'), ('v_proj', 'linear_v'), ('o_proj', 'linear_out')]


def published_name(name):
    pairs = ENCODER if 'audio_embed.encoder' in name else RENAMED if 'embed_tokens_extend' in name else []
    for here, there in pairs:
        name = name.replace(f'.{here}', f'.{there}')
    parts = name.rsplit('.', 1)
    return f'{parts[0]}.base_layer.{parts[1]}' if parts[0].endswith(MATRICES) and 'extend' not in name else name


def save_small(model, loras, tokenizer, processors, tensors, draws):
    folder = ROOT / 'small'
    folder.mkdir(parents=True, exist_ok=True)
    for one in (tokenizer, *processors):
        one.save_pretrained(folder)
    image_processor, extractor = (json.loads(one.to_json_string()) for one in processors)
    (folder / 'preprocessor_config.json').unlink()
    extractor.pop('mel_filters', None)
    (folder / 'processor_config.json').write_text(json.dumps(dict(image_processor=image_processor, feature_extractor=extractor), indent=2) + '\n')
    model.config.dtype, model.config.architectures = 'float16', [type(model).__name__]
    model.config.save_pretrained(folder)
    save_file(tensors, folder / 'model.safetensors')
    keep(folder / 'model.safetensors', draws)
    for kind, one in LORAS.items():
        own = folder / f'{kind}-lora'
        own.mkdir(exist_ok=True)
        settings = dict(peft_type='LORA', r=one['r'], lora_alpha=one['alpha'], bias='none', target_modules=[name.split('.')[1] for name in MATRICES])
        (own / 'adapter_config.json').write_text(json.dumps(settings, indent=2) + '\n')
        factors = {f'base_model.model.{module}.lora_{x}.weight': f.contiguous() for (k, module), pair in loras.items() if k == kind for x, f in zip('AB', pair)}
        save_file(factors, own / 'adapter_model.safetensors')
        keep(own / 'adapter_model.safetensors', draws)


def save_published(model, loras, tokenizer, tensors, draws):
    folder = ROOT / 'published'
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.chat_template = PLAIN_TEMPLATE
    tokenizer.save_pretrained(folder)
    for path in folder.glob('tokenizer*.json'):
        text = path.read_text()
        for here, there in PUBLISHED.items():
            text = text.replace(here, there)
        path.write_text(text)
    audio = dict(
        activation='swish', attention_dim=AUDIO['hidden_size'], attention_heads=AUDIO['num_attention_heads'], batch_norm=False, bias_in_glu=True,
        causal=True, chunk_size=-1, cnn_layer_norm=True, conv_activation='swish', conv_glu_type='swish', depthwise_multiplier=1,
        depthwise_seperable_out_channel=AUDIO['hidden_size'], dropout_rate=0.0, encoder_embedding_config=dict(input_size=80), ext_pw_kernel_size=1,
        ext_pw_out_channel=AUDIO['hidden_size'], input_layer='nemo_conv', input_size=80, kernel_size=3, left_chunk=18,
        linear_units=AUDIO['intermediate_size'], nemo_conv_settings=dict(conv_channels=AUDIO['nemo_conv_channels']), num_blocks=AUDIO['num_blocks'],
        relative_attention_bias_args=dict(t5_bias_max_distance=AUDIO['bias_max_distance'], type='t5'), time_reduction=8,
    )  # fmt: skip
    embedded = dict(
        audio_embd_layer=dict(compression_rate=8, downsample_rate=1, embedding_cls='audio', projection_cls='mlp', use_conv_downsample=False, use_qformer=False),
        embedding_cls='image_audio',
        image_embd_layer=dict(crop_size=SIDE, embedding_cls='tune_image', hd_transform_order='sub_glb', image_token_compression_cls='avg_pool_2d',
            projection_cls='mlp', use_hd_transform=True, with_learnable_separator=True),
    )  # fmt: skip
    text = {key: value for key, value in TEXT.items() if key != 'rope_parameters'} | dict(rms_norm_eps=1e-5, rope_theta=10000.0, sliding_window=262144)
    config = text | dict(
        architectures=['Phi4MMForCausalLM'], model_type='phi4mm', auto_map={'AutoModelForCausalLM': 'modeling_phi4mm.Phi4MMForCausalLM'}, torch_dtype='float16',
        audio_processor=dict(config=audio, name='cascades'), embd_layer=embedded, vision_config=VISION, audio_config=dict(audio_token_id=AUDIO['audio_token_id']),
        **{f'{kind}_lora': dict(r=one['r'], lora_alpha=one['alpha'], dp=0.0, layer='') for kind, one in LORAS.items()},
    )  # fmt: skip
    (folder / 'config.json').write_text(json.dumps(config, indent=2) + '\n')
    processor = dict(
        auto_map={'AutoProcessor': 'processing_phi4mm.Phi4MMProcessor'}, feature_extractor_type='Phi4MMAudioFeatureExtractor',
        image_processor_type='Phi4MMImageProcessor', processor_class='Phi4MMProcessor', audio_compression_rate=8, audio_downsample_rate=1,
        audio_feat_stride=1, dynamic_hd=CROPS,
    )  # fmt: skip
    (folder / 'preprocessor_config.json').write_text(json.dumps(processor, indent=2) + '\n')
    named = {published_name(name): value for name, value in tensors.items()}
    named |= {f'{module}.lora_{x}.{kind}.weight': f.contiguous() for (kind, module), pair in loras.items() for x, f in zip('AB', pair)}
    save_file(named, folder / 'model.safetensors')
    keep(folder / 'model.safetensors', draws)


@torch.no_grad()
def main():
    config = transformers.Phi4MultimodalConfig(**TEXT, vision_config=VISION, audio_config=AUDIO)
    config._attn_implementation = 'eager'
    model = transformers.Phi4MultimodalForCausalLM(config).eval().float()
    model.generation_config.eos_token_id = None
    tokenizer = byte_tokenizer()
    processors = (
        transformers.Phi4MultimodalImageProcessor(size=dict(height=SIDE, width=SIDE), patch_size=PATCH, dynamic_hd=CROPS),
        transformers.Phi4MultimodalFeatureExtractor(),
    )
    given = {title: inputs_of(processors, tokenizer, turns) for title, turns in CONVERSATIONS.items()}
    for seed in range(SEEDS):
        draws, loras = draw(model, seed)
        listed, margin = listed_turns(model, loras, given)
        if listed:
            break
    print(f'seed {seed}: margin {margin:.4f}', flush=True)
    tensors = {key: value.half().contiguous() for key, value in model.state_dict().items() if key != 'lm_head.weight'}
    tokenizer.chat_template = TEMPLATE
    save_small(model, loras, tokenizer, processors, tensors, draws)
    save_published(model, loras, tokenizer, tensors, draws)
    save_file(outputs(model, processors), ROOT / 'outputs.safetensors')
    made = {'command': 'python scripts/reference/phi4_media.py', 'made_with': {one: version(one) for one in ('torch', 'torchvision', 'transformers', 'pillow')}}
    document = made | {'margin': round(margin, 4), 'sounds': [dict(file=wav(sound(i, seconds))) for i, seconds in enumerate(SECONDS)]}
    (ROOT / 'small.json').write_text(json.dumps(document | {'images': token_counts(processors[0]), 'conversations': listed}, indent=1) + '\n')


if __name__ == '__main__':
    main()
