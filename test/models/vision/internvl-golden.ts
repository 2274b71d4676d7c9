// Goldens of InternVL that scripts/reference/internvl.py made with transformers.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readSafetensors } from '../../../src/files/tensors/safetensors.ts';
import { openDiskSource } from '../../../src/files/disk/source-disk.ts';
import type { Json } from '../../../src/models/config-values.ts';
import type { Clip } from '../../../src/files/media/decoded.ts';
import type { MediaFiles } from '../../../src/models/media.ts';

export const FOLDER = fileURLToPath(new URL('../../golden/internvl', import.meta.url));

const readJson = (path: string): Json => JSON.parse(readFileSync(`${FOLDER}/${path}`, 'utf8')) as Json;

export interface ImageGolden {
  /** A PNG file in base64. */
  file: string;
  limits: { min_patches?: number; max_patches?: number };
  tiles: number;
}

export const GOLDEN = readJson('images.json') as unknown as {
  images: Record<string, ImageGolden>;
  /** Of the images of media-images.json: the tiles, and a digest of their bytes. */
  media_images: Record<string, { tiles: number; sha256: string }>;
  /** Indices of the frames that a processor with these settings takes. */
  frames: { frames: number; fps: number; settings: Json; indices: number[] }[];
};

/** Configurations of a checkpoint, as its class reads them; `changes` to config.json, `video` to the settings of videos. */
export function mediaFiles(checkpoint: string, changes: Json = {}, video: Json = {}): MediaFiles {
  const isOriginal = checkpoint.endsWith('-original');
  const processors: MediaFiles['processors'] = isOriginal ? {} : processorsOf(checkpoint, video);
  return { config: { ...readJson(`${checkpoint}/config.json`), ...changes }, processors, hidden: 32 };
}

function processorsOf(checkpoint: string, video: Json): MediaFiles['processors'] {
  const config = readJson(`${checkpoint}/processor_config.json`);
  return {
    'processor_config.json': {
      ...config,
      video_processor: { ...(config['video_processor'] as Json), ...video },
    },
  };
}

/** Bytes of all tensors of a file of goldens. */
export async function readTensors(
  name: string,
): Promise<Map<string, { shape: readonly number[]; bytes: Uint8Array<ArrayBuffer> }>> {
  const source = await openDiskSource(`${FOLDER}/${name}`);
  const found = new Map<string, { shape: readonly number[]; bytes: Uint8Array<ArrayBuffer> }>();
  for (const [key, { shape, offset, bytes }] of (await readSafetensors(source)).tensors)
    found.set(key, { shape, bytes: new Uint8Array((await source.read(offset, bytes)).slice().buffer) });
  await source.close();
  return found;
}

/** Frames of images.safetensors, one a second. */
export async function clipOf(name: string): Promise<Clip> {
  const { shape, bytes } = (await readTensors('images.safetensors')).get(name)!;
  const [count, height, width] = shape as [number, number, number];
  const size = 3 * width * height;
  const indices = Array.from({ length: count }, (_, i) => i);
  return {
    source: { width, height, frames: count, fps: 1, duration: count },
    frames: indices.map((i) => ({ width, height, data: bytes.subarray(i * size, (i + 1) * size) })),
    indices,
  };
}
