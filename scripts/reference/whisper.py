"""Makes a tiny Whisper and what transformers' generate makes of sounds:  python scripts/reference/whisper.py

test/golden/whisper/ is a checkpoint with random weights, whose windows last a second, and a tokenizer of bytes; transcripts.json beside it has, for
sounds that a formula gives, the tokens of each segment. Sounds are sought whose tokens are clear.
"""

import json
import shutil
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList, WhisperConfig
from transformers import WhisperFeatureExtractor, WhisperForConditionalGeneration
from transformers.models.whisper.tokenization_whisper import _collate_word_timestamps, _combine_tokens_into_words

from recipe import Draws, keep

FOLDER = Path(__file__).parents[2] / 'test' / 'golden' / 'whisper'
RATE, SEED = 16000, 5
LANGUAGES = ['en', 'de', 'zh', 'es']
POSITIONS = 50
SPECIALS = [
    '<|endoftext|>', '<|startoftranscript|>', *(f'<|{code}|>' for code in LANGUAGES), '<|translate|>', '<|transcribe|>',
    '<|startoflm|>', '<|startofprev|>', '<|nospeech|>', '<|notimestamps|>',
]  # fmt: skip
IDS = {name: 256 + i for i, name in enumerate(SPECIALS)}
TIMES = [f'<|{step * 0.02:.2f}|>' for step in range(POSITIONS + 1)]


def tokenizer():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(name, special=True) for name in SPECIALS])
    made.add_tokens([AddedToken(name, special=False) for name in TIMES])
    return made


def config():
    return WhisperConfig(
        vocab_size=256 + len(SPECIALS) + len(TIMES), d_model=64, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=96, decoder_ffn_dim=96, num_mel_bins=16,
        max_source_positions=POSITIONS, max_target_positions=48, pad_token_id=IDS['<|endoftext|>'],
        bos_token_id=IDS['<|endoftext|>'], eos_token_id=IDS['<|endoftext|>'],
        decoder_start_token_id=IDS['<|startoftranscript|>'], begin_suppress_tokens=None,
    )  # fmt: skip


def generation():
    return GenerationConfig(
        bos_token_id=IDS['<|endoftext|>'], eos_token_id=IDS['<|endoftext|>'], pad_token_id=IDS['<|endoftext|>'],
        decoder_start_token_id=IDS['<|startoftranscript|>'], no_timestamps_token_id=IDS['<|notimestamps|>'],
        prev_sot_token_id=IDS['<|startofprev|>'], is_multilingual=True, max_length=48, max_initial_timestamp_index=10,
        alignment_heads=[[0, 1], [1, 0], [1, 3]],
        lang_to_id={f'<|{code}|>': IDS[f'<|{code}|>'] for code in LANGUAGES},
        task_to_id={task: IDS[f'<|{task}|>'] for task in ('translate', 'transcribe')},
        suppress_tokens=[*range(0, 97), *range(123, 256), *(IDS[name] for name in SPECIALS[1:-1])], begin_suppress_tokens=[100, IDS['<|endoftext|>']],
    )  # fmt: skip


def draw(model, seed=SEED, sharp=('q_proj', 'k_proj'), gains=(2.0, 1.0)):
    """`sharp`: parts of the names of matrices that have the first of the gains; others have the second."""
    draws = Draws(seed)
    for name, weight in model.named_parameters():
        if weight.dim() == 1:
            weight.data = draws(name, weight.shape, 0.2, 1.0 if 'norm' in name and 'bias' not in name else 0.0)
        elif 'embed' in name:
            weight.data = draws(name, weight.shape, 0.4)
        else:
            gain = gains[0] if any(part in name for part in sharp) else gains[1]
            weight.data = draws(name, weight.shape, gain / weight[0].numel() ** 0.5)
    return draws


def sound(seconds, seed):
    """Three gliding tones, which swell at different times."""
    t = np.arange(round(seconds * RATE)) / RATE
    tones = [
        np.sin(2 * np.pi * (180 * (k + 1) + 37 * seed + 60 * k * t) * t) * (0.5 + 0.5 * np.sin(t * (2.1 + k) + seed))
        for k in range(3)
    ]
    return (sum(tones) / 6).astype(np.float32)


class Gap(LogitsProcessor):
    """The least distance of the two best scores, of those before `end`."""

    def __init__(self, end):
        self.least, self.end = float('inf'), end

    def __call__(self, input_ids, scores):
        if self.end:
            scores[:, self.end :] = -float('inf')
        best = scores.topk(2).values[0]
        self.least = min(self.least, float(best[0] - best[1]))
        return scores


BASE = dict(language='de', task='transcribe')
CASES = {
    'plain': (1, dict(**BASE, return_timestamps=False)),
    'times': (1, dict(**BASE, return_timestamps=True)),
    'detected': (1, dict(task='translate', return_timestamps=True)),
    'long': (4.7, dict(**BASE, return_timestamps=True)),
    'conditioned': (4.7, dict(**BASE, return_timestamps=True, condition_on_prev_tokens=True)),
    'prompted': (3.2, dict(**BASE, return_timestamps=True, condition_on_prev_tokens=True, prompt='Some words before.')),
    'words': (4.7, dict(**BASE, return_timestamps=True, return_token_timestamps=True)),
    'characters': (1, dict(language='zh', task='transcribe', return_timestamps=False, return_token_timestamps=True)),
    'skipped': (4.7, dict(**BASE, return_timestamps=True, logprob_threshold=-0.9, no_speech_threshold=0.0005)),
}


NAMES = {'en': 'english', 'de': 'german', 'zh': 'chinese'}
TEXTS = {
    'en': ' "Hello," she said: it\'s 5 o\'clock (roughly)… Wait -- what? No-one knew.',
    'de': 'Größe 12,5 €! „Na gut“ [sagte] er',
    'zh': '你好，世界。 「是」 ok?',
}  # fmt: skip


class Words:
    """What the functions that divide texts into words ask of a tokenizer."""

    eos_token_id = IDS['<|endoftext|>']

    def __init__(self):
        self.tokenizer = tokenizer()

    def decode(self, tokens, decode_with_timestamps=True):
        return self.tokenizer.decode(tokens, skip_special_tokens=False)


def timed_words(segment, language):
    """(word, start, end) of a segment, as the pipeline of transformers has them."""
    times = [round(float(one), 2) for one in segment['token_timestamps']]
    spoken = [(token, (times[i - 1] if i > 0 else 0.0, times[i])) for i, token in enumerate(segment['tokens'].tolist()) if token < IDS['<|endoftext|>']]
    made = _collate_word_timestamps(Words(), [token for token, _ in spoken], [both for _, both in spoken], NAMES[language], False)
    return [[one['text'], *one['timestamp']] for one in made]


def divided(language, text):
    ids = tokenizer().encode(text).ids
    words, tokens, _ = _combine_tokens_into_words(Words(), ids, NAMES[language])
    return dict(language=language, ids=ids, words=[[word, len(own)] for word, own in zip(words, tokens)])


@torch.no_grad()
def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    model = WhisperForConditionalGeneration(config())
    draws = draw(model)
    model.generation_config = generation()
    model.save_pretrained(FOLDER)
    keep(FOLDER / 'model.safetensors', draws)
    made = tokenizer()
    made.save(str(FOLDER / 'tokenizer.json'))
    (FOLDER / 'tokenizer_config.json').write_text(json.dumps({'eos_token': '<|endoftext|>', 'tokenizer_class': 'WhisperTokenizer'}) + '\n')
    extractor = WhisperFeatureExtractor(feature_size=16, chunk_length=1)
    extractor.save_pretrained(FOLDER)
    model = WhisperForConditionalGeneration.from_pretrained(FOLDER, attn_implementation='eager').eval()

    cases = []
    for name, (seconds, options) in CASES.items():
        for seed in range(1, 40):
            heard = extractor(sound(seconds, seed), sampling_rate=RATE, truncation=False, padding='max_length' if seconds <= 1 else 'longest', return_attention_mask=True, return_tensors='pt')
            features = heard.input_features
            gap = Gap(None if options['return_timestamps'] else IDS['<|notimestamps|>'])
            given = dict(options)
            prompt = given.pop('prompt', None)
            if prompt:
                words = made.encode(' ' + prompt).ids
                given['prompt_ids'] = torch.tensor([IDS['<|startofprev|>'], *words])
            if options.get('return_token_timestamps'):
                given['attention_mask'] = heard.attention_mask
            out = model.generate(features, **given, return_segments=True, logits_processor=LogitsProcessorList([gap]), temperature=0.0, num_beams=1)
            language = int(model.detect_language(features[:, :, :100]).item())
            first_time = IDS['<|notimestamps|>'] + 1
            for one in out['segments'][0]:  # the beginning of the next segment is also there
                if len(one['tokens']) > 2 and one['tokens'][-2] >= first_time:
                    one['tokens'] = one['tokens'][:-1]
            segments = [dict(start=round(float(one['start']), 3), end=round(float(one['end']), 3), tokens=one['tokens'].tolist()) for one in out['segments'][0]]
            if options.get('return_token_timestamps'):
                for made_segment, one in zip(segments, out['segments'][0]):
                    made_segment['words'] = timed_words(one, options['language'])
            skips = name != 'skipped' or 0 < len({int(one['start']) for one in segments}) < 5
            if gap.least > 0.005 and skips:
                break
        else:
            raise RuntimeError(name)
        print(name, seed, features.shape, gap.least, [(one['start'], one['end'], len(one['tokens'])) for one in segments])
        cases.append(dict(name=name, seconds=seconds, seed=seed, options=options, language=language, segments=segments))
    features = extractor(sound(1, 3), sampling_rate=RATE, return_tensors='pt').input_features
    ids = [IDS['<|startoftranscript|>'], 259, 263, *(int(one) for one in np.random.default_rng(1).integers(0, 256, 30))]
    logits = model(features, decoder_input_ids=torch.tensor([ids])).logits[0]
    forced = dict(seed=3, ids=ids, logits=[[round(float(one), 5) for one in logits[row]] for row in (0, 2, 19, 32)], rows=[0, 2, 19, 32])
    packages = {package: version(package) for package in ('torch', 'transformers', 'tokenizers')}
    (FOLDER / 'transcripts.json').write_text(json.dumps(dict(command='python scripts/reference/whisper.py', made_with=packages, forced=forced, divided=[divided(*one) for one in TEXTS.items()], cases=cases)) + '\n')


if __name__ == '__main__':
    main()
