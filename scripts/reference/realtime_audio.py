"""Makes a tiny checkpoint of Voxtral Realtime, and what transformers computes with it:

    python scripts/reference/realtime_audio.py

test/golden/audio/voxtral-realtime/ is a checkpoint with random weights, its processor, and tekken.json as its only tokenizer, as the model was
published. voxtral-realtime.json beside it: sounds as WAV files of 16 bits, and the tokens that transformers generates up to their ends.
voxtral-realtime.safetensors: the features of the sounds, and the rows that the tower makes of them. How sounds are surrounded with silence is
that of mistral-common's audio encoder.
"""

import base64
import json

import numpy as np
import torch
import transformers
from safetensors.torch import save_file
from audio import RATE, ROOT, draw, sound, wav
from recipe import keep

NAME, SEEDS, MARGIN = 'voxtral-realtime', 300, 0.02
SECONDS = [0.3111, 1.7777]
# Silence before a sound and tokens by which the text is late; tokens behind a sound are one more, and those of a long word.
LEFT, DELAY, WORD, SAMPLES = 4, 2, 10, 1280
SPECIALS = ['<unk>', '<s>', '</s>', '<pad>', '[STREAMING_PAD]', '[STREAMING_WORD]']
START, PAD = SPECIALS.index('<s>'), SPECIALS.index('[STREAMING_PAD]')
VOCABULARY = len(SPECIALS) + 256


def tekken():
    """A token for each byte behind the special ones."""
    spectrum = dict(num_mel_bins=20, hop_length=160, window_size=400)
    audio = dict(sampling_rate=RATE, frame_rate=12.5, audio_encoding_config=spectrum, transcription_format='streaming',
                 transcription_delay_ms=80.0 * DELAY, streaming_look_ahead_ms=2.5, streaming_look_back_ms=52.5, streaming_n_left_pad_tokens=LEFT)  # fmt: skip
    return dict(
        config=dict(pattern=r'\s+|\S+', num_vocab_tokens=256, default_vocab_size=VOCABULARY, default_num_special_tokens=len(SPECIALS), version='v13'),
        vocab=[dict(rank=i, token_bytes=base64.b64encode(bytes([i])).decode(), token_str=None) for i in range(256)],
        special_tokens=[dict(rank=i, token_str=text, is_control=True) for i, text in enumerate(SPECIALS)],
        audio=audio,
    )


def configuration():
    rope = dict(rope_type='default', rope_theta=10000.0)
    audio = dict(num_mel_bins=20, num_hidden_layers=2, num_attention_heads=2, head_dim=16, hidden_size=40, intermediate_size=56,
                 sliding_window=12, rope_parameters=rope)  # fmt: skip
    text = dict(vocab_size=VOCABULARY, hidden_size=48, intermediate_size=72, num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=1,
                head_dim=16, max_position_embeddings=1024, sliding_window=24, rms_norm_eps=1e-5, rope_parameters=rope)  # fmt: skip
    # Tied heads of random weights repeat the token that they read.
    return transformers.VoxtralRealtimeConfig(audio_config=audio, text_config=text, default_num_delay_tokens=DELAY, tie_word_embeddings=False)


def features(extractor, samples):
    """With silence before and behind."""
    behind = -len(samples) % SAMPLES + SAMPLES * (DELAY + 1 + WORD)
    return extractor([np.pad(samples, (SAMPLES * LEFT, behind))], sampling_rate=RATE, return_tensors='pt')['input_features']


def generated(model, made):
    ids = torch.tensor([[START] + [PAD] * (LEFT + DELAY)])
    found = model.generate(input_ids=ids, input_features=made, num_delay_tokens=DELAY, do_sample=False, eos_token_id=None, pad_token_id=3,
                           output_logits=True, return_dict_in_generate=True)  # fmt: skip
    leads = [logits[0].topk(2).values for logits in found.logits]
    return found.sequences[0, ids.shape[1] :].tolist(), min(float(a - b) for a, b in leads)


@torch.no_grad()
def make():
    model = transformers.VoxtralRealtimeForConditionalGeneration(configuration()).eval().float()
    extractor = transformers.VoxtralRealtimeFeatureExtractor(feature_size=20)
    stored = [sound(i, seconds) for i, seconds in enumerate(SECONDS)]
    heard = [features(extractor, one.astype(np.float32) / 32768) for one in stored]
    best = (-1.0, None, None)
    for seed in range(SEEDS):
        draw(model, seed)
        found = [generated(model, made) for made in heard]
        lead = min(lead for _, lead in found)
        if lead > best[0] and min(len(set(tokens)) for tokens, _ in found) >= 6:
            best = (lead, seed, [tokens for tokens, _ in found])
            print(f'{NAME} seed {seed}: lead {lead:.3f}', flush=True)
        if best[0] > MARGIN:
            break
    draws = draw(model, best[1])
    tensors = {}
    for i, made in enumerate(heard):
        tensors |= {f'features.{i}': made.transpose(1, 2), f'rows.{i}': model.get_audio_features(made).pooler_output}
    save_file({key: value.contiguous() for key, value in tensors.items()}, ROOT / f'{NAME}.safetensors')
    document = dict(lead=round(best[0], 4), sounds=[wav(one) for one in stored], greedy=best[2])
    (ROOT / f'{NAME}.json').write_text(json.dumps(document) + '\n')
    folder = ROOT / NAME
    model.half().save_pretrained(folder)
    keep(folder / 'model.safetensors', draws)
    extractor.save_pretrained(folder)
    # The processor is saved whole where mistral-common is installed.
    part = json.loads((folder / 'preprocessor_config.json').read_text())
    (folder / 'processor_config.json').write_text(json.dumps(dict(feature_extractor=part, processor_class='VoxtralRealtimeProcessor'), indent=2) + '\n')
    (folder / 'preprocessor_config.json').unlink()
    (folder / 'generation_config.json').unlink(missing_ok=True)
    (folder / 'tekken.json').write_text(json.dumps(tekken()) + '\n')


if __name__ == '__main__':
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    make()
