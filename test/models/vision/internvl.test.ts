// What InternVL's processors make of images and videos, against transformers.

import { expect, it } from 'vitest';
import type { Pixels } from '../../../src/files/image/pixels.ts';
import { mediaFamily } from '../../../src/models/media-families.ts';
import type { MediaModel, TileLimits } from '../../../src/models/media.ts';
import { closestGrid, tileBounds } from '../../../src/models/vision/tile-grid.ts';
import { GOLDEN, mediaFiles, readTensors } from './internvl-golden.ts';

const CLASSES = { qwen2: 'InternVLForConditionalGeneration', 'qwen2-original': 'InternVLChatModel' };
const [SIDE, PATCH, ROWS] = [24, 6, 4];

function open(checkpoint: keyof typeof CLASSES, changes = {}): MediaModel {
  return mediaFamily(CLASSES[checkpoint])!.read(mediaFiles(checkpoint, changes));
}
