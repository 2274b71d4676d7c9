"""Makes test/golden/media-sounds.json: small sound files of odd kinds, the samples that transformers reads of them at 16 kHz
(load_audio with soundfile and soxr), and the features that its extractor for Whisper makes of these.

    python scripts/reference/media_sounds.py
"""

import base64
import io
import json
import zlib
from pathlib import Path

import numpy as np
import soundfile
from transformers import WhisperFeatureExtractor
from transformers.audio_utils import load_audio

OUT = Path(__file__).parents[2] / 'test' / 'golden' / 'media-sounds.json'

# Name, container, subtype, rate, channels, seconds.
KINDS = [
    ('8-bit', 'WAV', 'PCM_U8', 16000, 1, 0.31),
    ('16-bit', 'WAV', 'PCM_16', 16000, 1, 0.30),
    ('24-bit-stereo', 'WAV', 'PCM_24', 44100, 2, 0.11),
    ('32-bit', 'WAV', 'PCM_32', 22050, 1, 0.13),
    ('float', 'WAV', 'FLOAT', 48000, 1, 0.11),
    ('double', 'WAV', 'DOUBLE', 11025, 3, 0.11),
    ('a-law', 'WAV', 'ALAW', 8000, 1, 0.33),
    ('mu-law', 'WAV', 'ULAW', 8000, 2, 0.27),
    ('extensible', 'WAVEX', 'PCM_16', 12345, 4, 0.2),
    ('odd-rate', 'WAV', 'PCM_16', 44099, 1, 0.2),
    ('mp3', 'MP3', 'MPEG_LAYER_III', 44100, 1, 0.3),
    ('mp3-low', 'MP3', 'MPEG_LAYER_III', 22050, 2, 0.4),
    ('flac', 'FLAC', 'PCM_16', 44100, 2, 0.13),
    ('flac-24', 'FLAC', 'PCM_24', 96000, 1, 0.07),
    ('vorbis', 'OGG', 'VORBIS', 32000, 2, 0.25),
    ('opus', 'OGG', 'OPUS', 48000, 1, 0.25),
]
SCALE = 8192


def sound(index, rate, channels, seconds):
    """Gliding tones with a little noise; channels differ."""
    random = np.random.default_rng(index)
    time = np.arange(round(rate * seconds)) / rate
    top = 0.42 * min(rate, 16000)
    parts = []
    for channel in range(channels):
        glide = 200 + 90 * channel + (top - 300) * time / seconds * random.uniform(0.4, 0.9)
        tone = 0.4 * np.sin(2 * np.pi * np.cumsum(glide) / rate) + 0.2 * np.sin(2 * np.pi * (320 + 40 * index) * time)
        parts.append((tone + 0.02 * random.standard_normal(len(time))) * np.minimum(1, 40 * time))
    return np.stack(parts, 1) * 0.9


def packed(values):
    """f32 as whole numbers of 16 bits, deflated."""
    whole = np.clip(np.round(values), -32768, 32767).astype('<i2')
    return base64.b64encode(zlib.compress(whole.tobytes(), 9)).decode()


def main():
    made = []
    for index, (name, container, subtype, rate, channels, seconds) in enumerate(KINDS):
        file = io.BytesIO()
        soundfile.write(file, sound(index, rate, channels, seconds), rate, subtype, format=container)
        data = file.getvalue()
        encoded = base64.b64encode(data).decode()
        samples = load_audio(f'data:audio/{container.lower()};base64,{encoded}', 16000, backend='soundfile')
        mels = 128 if index % 2 else 80
        extractor = WhisperFeatureExtractor(feature_size=mels)
        features = extractor(samples, sampling_rate=16000, return_tensors='np')['input_features'][0]
        frames = len(samples) // 160 + 6
        made.append(dict(name=name, rate=rate, channels=channels, file=encoded, length=len(samples), samples=packed(samples * 32768), mels=mels,
                         frames=frames, scale=SCALE, features=packed(features[:, :frames] * SCALE), rest=float(features[:, -1].mean())))  # fmt: skip
        print(name, len(data), len(samples), features.shape, float(features.min()), float(features.max()))
    OUT.write_text(json.dumps(made) + '\n')
    print(OUT.stat().st_size)


if __name__ == '__main__':
    main()
