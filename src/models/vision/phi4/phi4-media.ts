// Images and sounds of Phi-4-multimodal, and the LoRAs that its language model has for them: that of vision where a prompt has images, that of
// speech where it has sounds only.

import { besideImages, phi4SoundReader } from '../../audio/phi4-sound.ts';
import { phi4Audio } from '../../audio/phi4-audio.ts';
import { readPhi4Sounds } from '../../audio/phi4-audio-config.ts';
import { isJsonObject, readConfig, type Json } from '../../config-values.ts';
import type { ImageReader, MediaFamily, MediaLora, MediaModel } from '../../media.ts';
import { readPhi4Images } from './phi4-config.ts';
import type { CropRule } from './phi4-crops.ts';
import { phi4Image } from './phi4-image.ts';
import { phi4Vision } from './phi4-vision.ts';

const [CROPS, SOUND] = ['crops', 'sound'];
/** Ids of the tokens in whose places rows stand, which tokenizers name differently. */
const TOKENS = { image: 200_010, audio: 200_011 };

export const PHI4: MediaFamily = {
  classes: ['Phi4MMForCausalLM', 'Phi4MultimodalForCausalLM'],
  read(files): MediaModel {
    const [images, sounds] = [readPhi4Images(files), readPhi4Sounds(files)];
    const tokens = readTokens(files.config);
    const shown = ['<|audio|>', '<|audio_1|>', '<|endoftext11|>'] as const;
    return {
      readers: {
        image: imageReader(images.crops, tokens.image),
        audio: phi4SoundReader(sounds, { tower: SOUND, token: tokens.audio, shown }),
      },
      towers: {
        [CROPS]: (weights) => phi4Vision(images.tower, weights),
        [SOUND]: (weights) => phi4Audio(sounds.encoder, weights),
      },
      spans: false,
      mediaJoined: true,
      among: (kind, prepared, kinds) =>
        kind === 'audio' && kinds.has('image') ? besideImages(prepared) : prepared,
      loras: readLoras(files.config),
    };
  },
};

function imageReader(rule: CropRule, token: number): ImageReader {
  return {
    placeholder: '<|image|>',
    otherPlaceholders: ['<|image_1|>', '<|endoftext10|>'],
    alpha: 'dropped',
    *prepare(image) {
      const { inputs, layout, rows } = yield* phi4Image(image, rule);
      return { parts: [rows], token, tower: CROPS, inputs, layout };
    },
  };
}

function readTokens(json: Json): typeof TOKENS {
  const config = readConfig('config.json', json);
  return {
    image: config.part('vision_config').count('image_token_id', TOKENS.image),
    audio: config.part('audio_config').count('audio_token_id', TOKENS.audio),
  };
}

/** The published repository has the factors among the weights, and their settings in config.json; others have folders of PEFT. */
function readLoras(json: Json): MediaLora[] {
  return (
    [
      ['vision', 'image'],
      ['speech', 'audio'],
    ] as const
  ).map(([name, kind]) => {
    const key = `${name}_lora`;
    const folder = `${name}-lora`;
    if (!isJsonObject(json[key])) return { name, kind, folder, among: null };
    const settings = readConfig('config.json', json).part(key);
    const rank = settings.count('r');
    return { name, kind, folder, among: { rank, scale: settings.real('lora_alpha') / rank } };
  });
}
