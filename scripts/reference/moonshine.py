"""Makes a tiny Moonshine and what transformers' generate makes of sounds:  python scripts/reference/moonshine.py

test/golden/moonshine/ is a checkpoint with random weights and a tokenizer of bytes; transcripts.json beside it has, for sounds that a formula gives
(test/engine/transcription/sounds.ts), the tokens of each window of half a minute. Sounds are sought whose tokens are clear.
"""

import json
import shutil
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import GenerationConfig, LogitsProcessorList, MoonshineConfig, MoonshineForConditionalGeneration, Wav2Vec2FeatureExtractor

from recipe import keep
from whisper import Gap, draw, sound

FOLDER = Path(__file__).parents[2] / 'test' / 'golden' / 'moonshine'
RATE, SEED, SPECIALS = 16000, 3, ['<unk>', '<s>', '</s>']
# Samples from one window to the next: as many as the rows of the first convolution within half a minute stand apart.
WINDOW, HOP = 30 * RATE, ((30 * RATE - 127) // 64 + 1) * 64
# Of a second: a text's tokens are limited by its sound's length.
LENGTH = 24


def tokenizer():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {name: i for i, name in enumerate([*SPECIALS, *alphabet])}
    made = Tokenizer(models.BPE(vocabulary, [], unk_token='<unk>'))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(name, special=True) for name in SPECIALS])
    return made


def config():
    return MoonshineConfig(
        vocab_size=256 + len(SPECIALS), hidden_size=104, intermediate_size=96, encoder_num_hidden_layers=2, decoder_num_hidden_layers=2,
        encoder_num_attention_heads=2, decoder_num_attention_heads=2, max_position_embeddings=48, pad_head_dim_to_multiple_of=8,
        bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    )  # fmt: skip


@torch.no_grad()
def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    model = MoonshineForConditionalGeneration(config())
    # Sharp convolutions, so that what is heard counts.
    draws = draw(model, SEED, ('q_proj', 'k_proj', 'conv'), (3.0, 1.5))
    model.generation_config = GenerationConfig(bos_token_id=1, eos_token_id=2, pad_token_id=2, decoder_start_token_id=1, max_length=48)
    model.save_pretrained(FOLDER)
    keep(FOLDER / 'model.safetensors', draws)
    made = tokenizer()
    made.save(str(FOLDER / 'tokenizer.json'))
    (FOLDER / 'tokenizer_config.json').write_text(json.dumps({'bos_token': '<s>', 'eos_token': '</s>', 'tokenizer_class': 'PreTrainedTokenizerFast'}) + '\n')
    extractor = Wav2Vec2FeatureExtractor(do_normalize=False, return_attention_mask=True)
    extractor.save_pretrained(FOLDER)
    model = MoonshineForConditionalGeneration.from_pretrained(FOLDER, attn_implementation='eager').eval()

    def heard(samples):
        return extractor(samples, sampling_rate=RATE, return_tensors='pt')

    cases = []
    for seconds in (1, 2.345, 30.9):
        for seed in range(1, 40):
            samples = sound(seconds, seed)
            windows, gaps = [], []
            for start in range(0, len(samples) - 126, HOP):
                gap = Gap(None)
                out = model.generate(**heard(samples[start : start + WINDOW]), max_new_tokens=LENGTH, do_sample=False, logits_processor=LogitsProcessorList([gap]))
                tokens = out[0].tolist()[1:]
                windows.append(tokens[:-1] if tokens[-1] == 2 else tokens)
                gaps.append(gap.least)
            if min(gaps) > 0.005 and len({token for one in windows for token in one}) > 6:
                break
        else:
            raise RuntimeError(seconds)
        print(seconds, seed, gaps, windows)
        text = ' '.join(made.decode(one).strip() for one in windows)
        cases.append(dict(seconds=seconds, seed=seed, windows=windows, text=text))
    ids = [1, *(int(one) for one in np.random.default_rng(1).integers(3, 259, 32))]
    logits = model(**heard(sound(1, 3)), decoder_input_ids=torch.tensor([ids])).logits[0]
    rows = [0, 2, 19, 32]
    forced = dict(seed=3, ids=ids, rows=rows, logits=[[round(float(one), 5) for one in logits[row]] for row in rows])
    packages = {package: version(package) for package in ('torch', 'transformers', 'tokenizers')}
    (FOLDER / 'transcripts.json').write_text(json.dumps(dict(command='python scripts/reference/moonshine.py', made_with=packages, forced=forced, tokens=LENGTH, cases=cases)) + '\n')


if __name__ == '__main__':
    main()
