// The families of media models that are built in. A new one is one line here.

import type { GgufTower } from '../../files/gguf/tower.ts';
import type { Json } from '../config-values.ts';
import { QWEN2_AUDIO } from '../audio/qwen2-audio.ts';
import { QWEN3_ASR } from '../audio/qwen3-asr-sound.ts';
import { VOXTRAL } from '../audio/voxtral.ts';
import { VOXTRAL_REALTIME } from '../audio/voxtral-realtime-sound.ts';
import { QWEN2_AUDIO_GGUF, VOXTRAL_GGUF } from '../audio/whisper-gguf.ts';
import type { MediaFamily } from '../media.ts';
import { textHalf, withTextPositions, wrappedHalf, type TextHalf } from '../text/wrappers.ts';
import { GEMMA3 } from '../vision/gemma3-media.ts';
import { GEMMA3N } from '../vision/gemma3n/gemma3n-media.ts';
import { GEMMA3N_VISION_GGUF } from '../vision/gemma3n/gemma3n-vision-gguf.ts';
import { GEMMA4_VISION_GGUF } from '../vision/gemma4-gguf.ts';
import { GEMMA4_UNIFIED_GGUF } from '../vision/gemma4-unified-gguf.ts';
import { GEMMA4, GEMMA4_UNIFIED } from '../vision/gemma4-media.ts';
import { DEEPSEEK_OCR_GGUF } from '../vision/ocr/deepseek-ocr-gguf.ts';
import { DEEPSEEK_OCR } from '../vision/ocr/deepseek-ocr-media.ts';
import { GLM_VISION_GGUF } from '../vision/ocr/glm-vision-gguf.ts';
import { GLM_4V, GLM_OCR } from '../vision/ocr/glm-vision-media.ts';
import { IDEFICS3, SMOLVLM } from '../vision/idefics3-media.ts';
import { INTERNVL_VISION_GGUF } from '../vision/internvl/internvl-gguf.ts';
import { INTERNVL } from '../vision/internvl/internvl-media.ts';
import { LLAMA4_VISION } from '../vision/llama4/llama4-media.ts';
import { LLAMA4_VISION_GGUF } from '../vision/llama4/llama4-vision-gguf.ts';
import { LIGHT_ON_VISION_GGUF, PIXTRAL_VISION_GGUF } from '../vision/pixtral-gguf.ts';
import { LFM2_VISION_GGUF } from '../vision/ocr/lfm2-vl-gguf.ts';
import { LFM2_VL } from '../vision/ocr/lfm2-vl-media.ts';
import { PADDLE_OCR_VISION_GGUF } from '../vision/ocr/paddleocr-vl-gguf.ts';
import { PADDLE_OCR_VL } from '../vision/ocr/paddleocr-vl-media.ts';
import { PHI4 } from '../vision/phi4/phi4-media.ts';
import { LIGHT_ON_OCR, MISTRAL3, PIXTRAL } from '../vision/pixtral-media.ts';
import { QWEN2_5_VL, QWEN2_VL, QWEN3_5, QWEN3_VL } from '../vision/qwen/qwen-media.ts';
import {
  QWEN2_VISION_GGUF,
  QWEN3_VISION_GGUF,
  QWEN2_5_VISION_GGUF,
} from '../vision/qwen/qwen-vision-gguf.ts';
import { GEMMA3_VISION_GGUF, IDEFICS3_VISION_GGUF } from '../vision/siglip-gguf.ts';

const families: MediaFamily[] = [
  INTERNVL,
  IDEFICS3,
  SMOLVLM,
  QWEN2_VL,
  QWEN2_5_VL,
  QWEN3_VL,
  QWEN3_5,
  DEEPSEEK_OCR,
  GLM_4V,
  GLM_OCR,
  LFM2_VL,
  LIGHT_ON_OCR,
  LLAMA4_VISION,
  MISTRAL3,
  PADDLE_OCR_VL,
  PHI4,
  PIXTRAL,
  QWEN2_AUDIO,
  QWEN3_ASR,
  VOXTRAL,
  VOXTRAL_REALTIME,
  GEMMA3,
  GEMMA3N,
  GEMMA4,
  GEMMA4_UNIFIED,
];

/** Classes of config.json whose models read images, videos or sounds. */
export const mediaClasses = (): string[] => families.flatMap(({ classes }) => classes);

/** Towers that GGUF files of llama.cpp hold. */
export const GGUF_TOWERS: readonly GgufTower[] = [
  QWEN2_VISION_GGUF,
  QWEN2_5_VISION_GGUF,
  QWEN3_VISION_GGUF,
  GEMMA3_VISION_GGUF,
  GEMMA3N_VISION_GGUF,
  GEMMA4_VISION_GGUF,
  GEMMA4_UNIFIED_GGUF,
  INTERNVL_VISION_GGUF,
  IDEFICS3_VISION_GGUF,
  DEEPSEEK_OCR_GGUF,
  GLM_VISION_GGUF,
  LFM2_VISION_GGUF,
  LIGHT_ON_VISION_GGUF,
  LLAMA4_VISION_GGUF,
  PADDLE_OCR_VISION_GGUF,
  PIXTRAL_VISION_GGUF,
  QWEN2_AUDIO_GGUF,
  VOXTRAL_GGUF,
];

/** The family of a class of config.json; null: it reads text only. */
export function mediaFamily(className: string): MediaFamily | null {
  return families.find(({ classes }) => classes.includes(className)) ?? null;
}

/** The text model within a class, ready for the class's media; null: the class wraps none, or the text model's class is not built in. */
export function mediaHalf(config: Json, className: string): TextHalf | null {
  const family = mediaFamily(className);
  const half = wrappedHalf(config, className);
  if (half === null || !family?.text) return textHalf(config, className);
  return { ...half, config: { ...withTextPositions({ ...family.text(half.config, config) }) } };
}
