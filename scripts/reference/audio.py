"""Makes tiny checkpoints of Qwen2-Audio, Qwen3-ASR and Voxtral, and what transformers computes with them:

    python scripts/reference/audio.py

test/golden/audio/<name>/ is a checkpoint with random weights, its tokenizer, its chat template and its processor. <name>.json beside it: sounds
as WAV files of 16 bits, their numbers of tokens, conversations with their token ids and the tokens that greedy decoding yields.
<name>.safetensors: the features of two sounds, and the rows that the tower makes of them.
"""

import base64
import io
import json
import wave
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from recipe import Draws, keep

ROOT = Path(__file__).parents[2] / 'test' / 'golden' / 'audio'
RATE, GREEDY, SEEDS, MARGIN = 16000, 24, 300, 0.02
ROPE = dict(rope_type='default', rope_theta=10000.0)
TEXT = dict(hidden_size=48, intermediate_size=72, num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=1, max_position_embeddings=1024,
            bos_token_id=None, tie_word_embeddings=False, rope_parameters=ROPE)  # fmt: skip
QWEN_SPECIALS = ['<|endoftext|>', '<|im_start|>', '<|im_end|>', '<|AUDIO|>', '<|audio_bos|>', '<|audio_eos|>']
QWEN3_SPECIALS = ['<|endoftext|>', '<|im_start|>', '<|im_end|>', '<|audio_start|>', '<|audio_end|>', '<|audio_pad|>']
MISTRAL_SPECIALS = ['<pad>', '<s>', '</s>', '[INST]', '[/INST]', '[AUDIO]', '[BEGIN_AUDIO]', '[SYSTEM_PROMPT]', '[/SYSTEM_PROMPT]']
QWEN3_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.content is string %}{{ m.content }}{% else %}{% for c in m.content %}"
    "{% if c.type == 'text' %}{{ c.text }}{% else %}<|audio_start|><|audio_pad|><|audio_end|>{% endif %}{% endfor %}{% endif %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MISTRAL_TEMPLATE = (
    "<s>{% for m in messages %}{% if m.role == 'user' %}[INST]{% if m.content is string %}{{ m.content }}{% else %}{% for c in m.content %}"
    "{% if c.type == 'text' %}{{ c.text }}{% else %}[BEGIN_AUDIO][AUDIO]{% endif %}{% endfor %}{% endif %}[/INST]"
    "{% elif m.role == 'system' %}[SYSTEM_PROMPT]{{ m.content }}[/SYSTEM_PROMPT]{% else %}{{ m.content }}</s>{% endif %}{% endfor %}"
)
# Seconds of the sounds, none of which is whole frames.
SECONDS = {'qwen2-audio': [0.3111, 0.7777, 0.9991, 1.0], 'qwen3-asr': [0.3111, 2.6019, 1.0, 1.777], 'voxtral': [0.3111, 1.7777, 1.0, 2.0001]}
CASES = {
    'one': [('user', [0, 'What is heard?'])],
    'other': [('user', [1, 'What is heard?'])],
    'several': [('system', 'Short.'), ('user', ['Compare ', 2, ' with ', 0, '.'])],
    'turns': [('user', [3, 'A?']), ('assistant', 'So.'), ('user', ['B?', 1])],
    'text': [('user', ['No sound.'])],
}


def sound(index, seconds):
    random = np.random.default_rng(index)
    time = np.arange(int(RATE * seconds)) / RATE
    tones = sum(random.uniform(0.1, 0.4) * np.sin(2 * np.pi * random.uniform(100, 5000) * time * (1 + 0.3 * time)) for _ in range(3))
    return np.round((tones + 0.03 * random.standard_normal(len(time))) * 0.4 * 32767).astype('<i2')


def wav(samples):
    file = io.BytesIO()
    with wave.open(file, 'wb') as out:
        out.setparams((1, 2, RATE, len(samples), 'NONE', ''))
        out.writeframes(samples.tobytes())
    return base64.b64encode(file.getvalue()).decode()


def tokenizer(specials, end, template):
    """One token per byte, then the special tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in specials])
    outer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, eos_token=end, pad_token=specials[0])
    outer.chat_template = template
    return outer


def draw(model, seed):
    """Standard deviations by role, so that attention is not flat; stored in f16 and computed with what is stored."""
    draws = Draws(seed)
    for name, weight in model.named_parameters():
        if weight.dim() == 1:
            weight.data = draws(name, weight.shape, 0.2, 1.0 if 'norm' in name and 'bias' not in name else 0.0)
        else:
            gain = 2.0 if 'q_proj' in name or 'k_proj' in name or 'lm_head' in name else 1.0
            scale = 1 if 'embed_tokens' in name else 0.5 if 'embed_positions' in name else gain / weight[0].numel() ** 0.5
            weight.data = draws(name, weight.shape, scale)
        weight.data = weight.data.half().float()
    return draws


def qwen2_audio():
    words = tokenizer(QWEN_SPECIALS, '<|im_end|>', None)
    extractor = transformers.WhisperFeatureExtractor(feature_size=20, chunk_length=1, return_attention_mask=True)
    processor = transformers.Qwen2AudioProcessor(extractor, words)
    # Published templates look for the part's key, and not for its type.
    words.chat_template = processor.default_chat_template.replace(" or content['type'] == 'audio'", '')
    audio = dict(num_mel_bins=20, encoder_layers=2, encoder_attention_heads=2, encoder_ffn_dim=52, d_model=40, max_source_positions=50)
    config = transformers.Qwen2AudioConfig(
        audio_config=audio, text_config=dict(TEXT, model_type='qwen2', vocab_size=len(words), eos_token_id=258), audio_token_index=259
    )

    def inputs(text, sounds):
        given = processor(text=[text], audio=sounds or None, return_tensors='pt', **({'sampling_rate': RATE} if sounds else {}))
        return {key: value for key, value in given.items() if key != 'num_audio_tokens'}

    def features(sounds):
        return extractor(sounds, sampling_rate=RATE, return_tensors='pt', padding='max_length', return_attention_mask=True)

    def rows(model, samples):
        made = features([samples])
        heard, count = model.model.audio_tower._get_feat_extract_output_lengths(made['attention_mask'].sum(-1))
        mask = torch.zeros(1, 1, 50, 50).masked_fill(torch.arange(50) >= heard, -1e30)
        out = model.model.audio_tower(made['input_features'], attention_mask=mask).last_hidden_state
        return made['input_features'], model.model.multi_modal_projector(out)[0, :count]

    return transformers.Qwen2AudioForConditionalGeneration(config), words, extractor, inputs, rows


def qwen3_asr():
    words = tokenizer(QWEN3_SPECIALS, '<|im_end|>', QWEN3_TEMPLATE)
    extractor = transformers.Qwen3ASRFeatureExtractor(feature_size=20)
    # transformers counts 13 rows for a chunk of any size.
    audio = dict(num_mel_bins=20, encoder_layers=2, encoder_attention_heads=2, encoder_ffn_dim=52, d_model=40, output_dim=48,
                 n_window_infer=200, downsample_hidden_size=32)  # fmt: skip
    text = dict(TEXT, model_type='qwen3', vocab_size=len(words), eos_token_id=258, head_dim=16)
    config = transformers.Qwen3ASRConfig(audio_config=audio, text_config=text, audio_token_id=261, tie_word_embeddings=False)

    def heard(samples):
        made = extractor(samples, sampling_rate=RATE, padding=True, return_attention_mask=True)
        return made['input_features'], made['attention_mask']

    def inputs(text, sounds):
        made = [heard(one) for one in sounds]
        counts = [int(sum(13 if n == 100 else -(-n // 8) for n in mask.reshape(-1, 100).sum(-1).tolist())) for _, mask in made]
        pieces = text.split('<|audio_pad|>')
        whole = pieces[0] + ''.join('<|audio_pad|>' * count + piece for count, piece in zip(counts, pieces[1:], strict=True))
        given = dict(words(whole, add_special_tokens=False, return_tensors='pt'))
        given.pop('token_type_ids', None)
        if not made:
            return given
        longest = max(features.shape[-1] for features, _ in made)
        widened = [[torch.nn.functional.pad(part, (0, longest - part.shape[-1])) for part in one] for one in made]
        return given | {key: torch.cat([one[i] for one in widened]) for i, key in enumerate(('input_features', 'input_features_mask'))}

    def rows(model, samples):
        features, mask = heard(samples)
        return features, model.get_audio_features(features, mask, return_dict=True).pooler_output

    return transformers.Qwen3ASRForConditionalGeneration(config), words, extractor, inputs, rows


def voxtral():
    words = tokenizer(MISTRAL_SPECIALS, '</s>', MISTRAL_TEMPLATE)
    extractor = transformers.WhisperFeatureExtractor(feature_size=20, chunk_length=1)
    audio = dict(num_mel_bins=20, num_hidden_layers=2, num_attention_heads=2, intermediate_size=200, hidden_size=40, max_source_positions=50)
    text = dict(TEXT, model_type='llama', vocab_size=len(words), eos_token_id=258, head_dim=16)
    config = transformers.VoxtralConfig(audio_config=audio, text_config=text, audio_token_id=261)

    def windows(samples):
        """VoxtralProcessor's own, with windows of one second."""
        settings = dict(sampling_rate=RATE, padding=True, truncation=False, pad_to_multiple_of=RATE, return_tensors='pt')
        found = extractor(samples, **settings)['input_features']
        return found.reshape(20, -1, 100).transpose(0, 1)

    def inputs(text, sounds):
        made = [windows(one) for one in sounds]
        pieces = text.split('[AUDIO]')
        whole = pieces[0] + ''.join('[AUDIO]' * (10 * len(one)) + piece for one, piece in zip(made, pieces[1:], strict=True))
        given = dict(words(whole, add_special_tokens=False, return_tensors='pt'))
        given.pop('token_type_ids', None)
        return given | ({'input_features': torch.cat(made)} if made else {})

    def rows(model, samples):
        made = windows(samples)
        return made, model.get_audio_features(made).pooler_output

    return transformers.VoxtralForConditionalGeneration(config), words, extractor, inputs, rows


def messages_of(turns):
    return [
        dict(role=role, content=content if isinstance(content, str) else
             [dict(type='audio', audio='') if isinstance(part, int) else dict(type='text', text=part) for part in content])
        for role, content in turns
    ]  # fmt: skip


def greedy(model, given):
    made = model.generate(**given, max_new_tokens=GREEDY, min_new_tokens=GREEDY, do_sample=False, output_logits=True,
                          return_dict_in_generate=True, pad_token_id=0, eos_token_id=None)
    leads = [logits[0].topk(2).values for logits in made.logits]
    return made.sequences[0, given['input_ids'].shape[1] :].tolist(), min(float(a - b) for a, b in leads)


@torch.no_grad()
def make(name, build):
    model, words, extractor, inputs, rows = build()
    model = model.eval().float()
    stored = [sound(i, seconds) for i, seconds in enumerate(SECONDS[name])]
    sounds = [one.astype(np.float32) / 32768 for one in stored]
    given = {}
    for title, turns in CASES.items():
        text = words.apply_chat_template(messages_of(turns), tokenize=False, add_generation_prompt=True)
        shown = [sounds[part] for _, content in turns for part in content if isinstance(part, int)]
        given[title] = inputs(text, shown)
    best = (-1.0, None, None)
    for seed in range(SEEDS):
        draw(model, seed)
        found = []
        for one in given.values():
            found.append(greedy(model, one))
            if found[-1][1] < max(best[0], 1e-3):
                break
        lead = min(lead for _, lead in found)
        if len(found) == len(given) and lead > best[0] and min(len(set(tokens)) for tokens, _ in found) >= 6:
            best = (lead, seed, [tokens for tokens, _ in found])
            print(f'{name} seed {seed}: lead {lead:.3f}', flush=True)
        if best[0] > MARGIN:
            break
    draws = draw(model, best[1])
    folder = ROOT / name
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {}
    for i in (0, 1):
        features, made = rows(model, sounds[i])
        tensors |= {f'features.{i}': features.transpose(1, 2), f'rows.{i}': made}
    save_file({key: value.contiguous() for key, value in tensors.items()}, ROOT / f'{name}.safetensors')
    cases = [
        dict(name=title, turns=turns, ids=given[title]['input_ids'][0].tolist(), greedy=tokens)
        for (title, turns), tokens in zip(CASES.items(), best[2], strict=True)
    ]
    document = dict(lead=round(best[0], 4), sounds=[wav(one) for one in stored], conversations=cases)
    (ROOT / f'{name}.json').write_text(json.dumps(document) + '\n')
    model.half().save_pretrained(folder)
    keep(folder / 'model.safetensors', draws)
    words.save_pretrained(folder)
    extractor.save_pretrained(folder)
    for extra in ('generation_config.json', 'chat_template.jinja'):
        (folder / extra).unlink(missing_ok=True)
    config = json.loads((folder / 'tokenizer_config.json').read_text())
    (folder / 'tokenizer_config.json').write_text(json.dumps(config | {'chat_template': words.chat_template}, indent=2) + '\n')


if __name__ == '__main__':
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    make('qwen2-audio', qwen2_audio)
    make('qwen3-asr', qwen3_asr)
    make('voxtral', voxtral)
