// Sounds of Gemma 3n. Its images, which a MobileNet reads, are not built.

import type { MediaFamily } from '../media.ts';
import { gemma3nAudio } from './gemma3n-audio.ts';
import { readGemma3nSounds } from './gemma3n-audio-config.ts';
import { gemma3nSoundReader } from './gemma3n-sound.ts';

const ENCODER = 'sound';

export const GEMMA3N: MediaFamily = {
  classes: ['Gemma3nForConditionalGeneration'],
  read(files) {
    const sounds = readGemma3nSounds(files);
    return {
      readers: { audio: gemma3nSoundReader(sounds, ENCODER) },
      towers: { [ENCODER]: (weights) => gemma3nAudio(sounds.encoder, weights) },
      spans: false,
    };
  },
};
