"""Makes a tiny checkpoint of Gemma 3n that sees and hears, and what transformers and timm compute with it:

    python scripts/reference/gemma3n_media.py        with torchvision, which transformers' processor of images asks for

test/golden/gemma3n-media/small/ is a checkpoint with random weights in f16, its tokenizer and its processor; its MobileNet has blocks of each kind.
small.json beside it: sounds as WAV files; odd images of internvl/images.json with a digest of their bytes as the encoder reads them; conversations
with their token ids and the tokens that greedy decoding yields. small.safetensors: features of a sound, and the rows of the encoder and of the
tokens around it; the rows of an image and of the token that ends it.
"""

import copy
import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import numpy
import torch
import transformers
from safetensors.torch import save_file
from timm.models._efficientnet_builder import decode_arch_def
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers.models.gemma3n import modeling_gemma3n as gemma3n
from audio import sound, wav
from pictured_turns import FILES, opened
from recipe import Draws, keep

torch.set_num_threads(1)
ROOT = Path(__file__).parents[2] / 'test' / 'golden' / 'gemma3n-media'
GREEDY, SEEDS, MARGIN = 16, 200, 0.002
SPECIAL = ['<pad>', '<eos>', '<bos>', '<start_of_turn>', '<end_of_turn>', '<start_of_image>', '<start_of_audio>']
MEDIA = ['<end_of_image>', '<image_soft_token>', '<end_of_audio>', '<audio_soft_token>']
BYTES = 256
IDS = {text: BYTES + i for i, text in enumerate(SPECIAL + MEDIA)}
TEXTS = BYTES + len(SPECIAL)  # the first of the tokens of media
VOCABULARY = TEXTS + 2 + 4  # two of images, four of sounds
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ '<start_of_turn>' + ('model' if message['role'] == 'assistant' else message['role']) + '\n' }}"
    "{% if message['content'] is string %}{{ message['content'] | trim }}{% else %}{% for item in message['content'] %}"
    "{% if item['type'] == 'audio' %}{{ '<audio_soft_token>' }}{% elif item['type'] == 'image' %}{{ '<image_soft_token>' }}"
    "{% elif item['type'] == 'text' %}{{ item['text'] | trim }}{% endif %}{% endfor %}{% endif %}"
    "{{ '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
)
TEXT = dict(
    hidden_size=64, intermediate_size=56, num_attention_heads=4, num_key_value_heads=2, head_dim=16, vocab_size=VOCABULARY,
    vocab_size_per_layer_input=TEXTS, max_position_embeddings=1024, num_hidden_layers=4, sliding_window=13, num_kv_shared_layers=2,
    layer_types=['sliding_attention', 'full_attention', 'sliding_attention', 'full_attention'], hidden_size_per_layer_input=8, laurel_rank=8,
    activation_sparsity_pattern=[0.8, 0.0, 0.0, 0.0], bos_token_id=IDS['<bos>'], eos_token_id=IDS['<eos>'], pad_token_id=0,
)  # fmt: skip
AUDIO = dict(
    hidden_size=48, conf_num_hidden_layers=2, conf_num_attention_heads=3, sscp_conv_channel_size=[16, 8], conf_attention_chunk_size=4,
    conf_attention_context_left=5, conf_attention_logit_cap=3.0, input_feat_size=16, vocab_size=4, vocab_offset=TEXTS + 2,
)  # fmt: skip
TOKENS = 8
SIDE, ACROSS = 96, 4
BLOCKS = decode_arch_def([
    ['er_r1_k3_s2_e2_c16', 'er_r1_k3_s1_e2_c16'],
    ['uir_r1_a3_k5_s2_e2_c24', 'uir_r1_a5_k0_s1_e2_c24', 'mqa_r1_k3_h3_v2_s1_d8_c24', 'uir_r1_a0_k0_s1_e2_c24'],
    ['uir_r1_a5_k5_s2_e2_c32', 'mqa_r1_k3_h2_s1_d12_c32', 'uir_r1_a0_k0_s1_e1_c32'],
])  # fmt: skip
VISION = dict(hidden_size=2048, vocab_size=2, vocab_offset=TEXTS)
MODEL_ARGS = dict(block_args=BLOCKS, stem_size=16, msfa_output_resolution=ACROSS)
SECONDS = [0.3111, 0.7777, 0.9991, 0.0421]
CONVERSATIONS = {
    'heard': [('user', ['sound 0', 'What is heard?'])],
    'both': [('user', ['sound 2', 'A?']), ('assistant', ['So.']), ('user', ['sound 1', 'and', 'sound 3', 'B?'])],
    'seen': [('user', ['exif-turned', 'Look.'])],
    'mixed': [('user', ['large', 'A?', 'sound 1']), ('assistant', ['So.']), ('user', ['B?', 'alpha'])],
    'text': [('user', ['No sound.'])],
}


def byte_tokenizer():
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token='<bos>', eos_token='<eos>', pad_token='<pad>')
    fast.add_special_tokens({'additional_special_tokens': SPECIAL + MEDIA})
    return fast


def config():
    made = transformers.Gemma3nConfig(
        text_config=TEXT, audio_config=AUDIO, vision_config=dict(VISION, model_args=copy.deepcopy(MODEL_ARGS)),
        vision_soft_tokens_per_image=ACROSS**2, audio_soft_tokens_per_image=TOKENS, boa_token_id=IDS['<start_of_audio>'], eoa_token_id=IDS['<end_of_audio>'],
        audio_token_id=IDS['<audio_soft_token>'], boi_token_id=IDS['<start_of_image>'], eoi_token_id=IDS['<end_of_image>'],
        image_token_id=IDS['<image_soft_token>'],
    )  # fmt: skip
    made._attn_implementation = 'eager'
    return made


def draw(model, seed):
    """Standard deviations by role, so that attention is not flat; stored in f16 and computed with what is stored."""
    draws = Draws(seed)
    for name, weight in model.named_parameters():
        if weight.dim() == 1:
            weight.data = draws(name, weight.shape, 0.2, 1.0 if 'norm' in name or '.bn' in name or 'gamma' in name else 0.0)
        elif 'embed_tokens' in name:
            weight.data = draws(name, weight.shape, 1.0 if 'per_layer' in name else 0.05)
        elif name.endswith('modality_router.weight'):
            weight.data = draws(name, weight.shape, 3.0)
        else:
            gain = 2.0 if 'conv' in name or 'pos_proj' in name or '.attn.' in name else 1.0
            weight.data = draws(name, weight.shape, gain / weight[0].numel() ** 0.5)
        weight.data = weight.data.half().float()
    model.tie_weights()
    return draws


def samples(i):
    return sound(i, SECONDS[i]).astype(numpy.float32) / 32768


def inputs_of(extractor, images, tokenizer, turns):
    """Ids with the tokens of media, the features of one sound after the other, and the pixels of images."""
    kinds = [dict(role=role, content=[part_of(part) for part in content]) for role, content in turns]
    text = tokenizer.apply_chat_template(kinds, chat_template=TEMPLATE, tokenize=False, add_generation_prompt=True)
    text = text.replace('<audio_soft_token>', '\n\n<start_of_audio>' + '<audio_soft_token>' * TOKENS + '<end_of_audio>\n\n')
    text = text.replace('<image_soft_token>', '\n\n<start_of_image>' + '<image_soft_token>' * ACROSS**2 + '<end_of_image>\n\n')
    given = dict(input_ids=tokenizer(text, return_tensors='pt', add_special_tokens=False)['input_ids'])
    heard = [part for _, content in turns for part in content if part.startswith('sound ')]
    given['sounds'] = [extractor([samples(int(part[6:]))], return_tensors='pt') for part in heard]
    given['pixels'] = [pixels_of(images, part) for _, content in turns for part in content if part in FILES]
    return given


def pixels_of(images, name):
    return images([opened(FILES[name]['file'])], return_tensors='pt')['pixel_values']


def part_of(part):
    if part in FILES:
        return dict(type='image')
    return dict(type='audio') if part.startswith('sound ') else dict(type='text', text=part)


def rows_of(model, features):
    """What stands in the places of a sound: the encoder's rows and the token that fills it up."""
    out = model.model.get_audio_features(features['input_features'], ~features['input_features_mask'])
    fill = model.model.embed_audio(input_ids=torch.tensor([[VOCABULARY - 1]]))
    rows = torch.where(out.audio_mel_mask[..., None], fill, out.pooler_output)
    return torch.cat((rows, fill.expand(1, TOKENS - rows.shape[1], -1)), 1)


def lead(logits):
    best = logits.topk(2).values
    return ((best[0] - best[1]) / logits.abs().amax()).item()


def generated(model, given):
    """Greedy tokens and their logits, with sounds put in one by one, because transformers fills a batch up to its longest one."""
    ids, rows = given['input_ids'], [rows_of(model, one)[0] for one in given['sounds']]
    of_images, seen = model.model.get_image_features, [model.model.get_image_features(one).pooler_output[0] for one in given['pixels']]
    model.model.get_image_features = lambda *_, **__: SimpleNamespace(pooler_output=torch.stack(seen))
    shown = dict(pixel_values=torch.zeros(len(seen), 3, SIDE, SIDE)) if seen else {}
    logits = []
    of_language = model.model.get_audio_features
    for _ in range(GREEDY):
        if rows:
            model.model.get_audio_features = lambda *_, **__: gemma3n.Gemma3nAudioEncoderModelOutput(
                pooler_output=torch.stack(rows), audio_mel_mask=torch.zeros(len(rows), TOKENS, dtype=torch.bool))  # fmt: skip
            mask = torch.ones(len(rows), 1, dtype=torch.bool)
            out = model(input_ids=ids, input_features=torch.zeros(len(rows), 1, 16), input_features_mask=mask, use_cache=False, **shown)
        else:
            out = model(input_ids=ids, use_cache=False, **shown)
        logits.append(out.logits[0, -1])
        if logits[-1].argmax() >= TEXTS or lead(logits[-1]) < MARGIN:  # a token of media, without a medium, or none that is clear
            break
        ids = torch.cat((ids, logits[-1].argmax()[None, None]), 1)
    model.model.get_audio_features, model.model.get_image_features = of_language, of_images
    return ids[0, given['input_ids'].shape[1] :], torch.stack(logits)


def conversations(model, given):
    listed, margins = {}, []
    for name, inputs in given.items():
        tokens, logits = generated(model, inputs)
        margins.append(min(lead(row) for row in logits))
        if len(tokens) < GREEDY or len(set(tokens.tolist())) < 5:
            return None, 0
        listed[name] = dict(turns=CONVERSATIONS[name], ids=inputs['input_ids'][0].tolist(), greedy=tokens.tolist())
    return listed, min(margins)


def digest(images, name):
    """Of the bytes of an image, pixel by pixel; null: the processor refuses it."""
    try:
        values = pixels_of(images, name)[0].permute(1, 2, 0).numpy().astype(numpy.float64) * 255
    except (ValueError, RuntimeError):
        return None
    assert abs(values - values.round()).max() < 1e-2
    return hashlib.sha256(values.round().astype(numpy.uint8).tobytes()).hexdigest()


@torch.no_grad()
def main():
    model, tokenizer = transformers.Gemma3nForConditionalGeneration(config()).eval().float(), byte_tokenizer()
    extractor = transformers.Gemma3nAudioFeatureExtractor(feature_size=AUDIO['input_feat_size'])
    images = transformers.SiglipImageProcessor(size=dict(height=SIDE, width=SIDE), resample=2, do_normalize=False, do_convert_rgb=True)
    given = {title: inputs_of(extractor, images, tokenizer, turns) for title, turns in CONVERSATIONS.items()}
    for seed in range(SEEDS):
        draws = draw(model, seed)
        listed, margin = conversations(model, given)
        if listed:
            break
    print(f'seed {seed}: margin {margin:.4f}', flush=True)
    folder = ROOT / 'small'
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    # Published files have the settings of both in one.
    (folder / 'preprocessor_config.json').write_text(json.dumps(json.loads(images.to_json_string()) | json.loads(extractor.to_json_string()), indent=2) + '\n')
    # timm takes its arguments to pieces.
    model.config.vision_config.model_args = MODEL_ARGS
    model.config.dtype, model.config.architectures = 'float16', [type(model).__name__]
    model.config.save_pretrained(folder)
    tensors = {key: value.half().contiguous() for key, value in model.state_dict().items() if key != 'lm_head.weight'}
    save_file(tensors, folder / 'model.safetensors')
    keep(folder / 'model.safetensors', draws)
    heard = given['heard']['sounds'][0]
    end = model.model.embed_audio(input_ids=torch.tensor([[IDS['<end_of_audio>']]]))
    rows = torch.cat((rows_of(model, heard), end), 1)
    image_end = model.model.embed_vision(input_ids=torch.tensor([[IDS['<end_of_image>']]]))
    seen = torch.cat((model.model.get_image_features(given['seen']['pixels'][0]).pooler_output, image_end), 1)
    values = dict(features=heard['input_features'][0].contiguous(), heard=rows[0].contiguous(), seen=seen[0].contiguous())
    save_file(values, ROOT / 'small.safetensors')
    made = {'command': 'python scripts/reference/gemma3n_media.py', 'made_with': {one: version(one) for one in ('torch', 'torchvision', 'timm', 'transformers')}}
    document = made | {'margin': round(margin, 4), 'sounds': [dict(file=wav(sound(i, seconds))) for i, seconds in enumerate(SECONDS)]}
    document |= dict(images={name: digest(images, name) for name in FILES})
    (ROOT / 'small.json').write_text(json.dumps(document | {'conversations': listed}, indent=1) + '\n')


if __name__ == '__main__':
    main()
