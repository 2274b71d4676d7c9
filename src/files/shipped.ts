// Models that ship with the package, in models/ beside src/ and dist/.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SHIPPED_CHAT_MODEL = 'svc-chat-mini';
const SHIPPED_IMAGE_MODEL = 'svc-scenes-mini';
const SHIPPED_VIDEO_MODEL = 'svc-clips-mini';
/** CLIP's tokenizer, for image models in one file, which have none. */
const SHIPPED_TOKENIZER = 'clip-tokenizer';
const SHIPPED = [SHIPPED_CHAT_MODEL, SHIPPED_IMAGE_MODEL, SHIPPED_VIDEO_MODEL, SHIPPED_TOKENIZER];
/** One of these is in each shipped folder. */
const SETTINGS = ['config.json', 'model_index.json', 'tokenizer_config.json'];

/** Folder of the chat model that ships. */
export function shippedModelPath(): string {
  return folderOf(SHIPPED_CHAT_MODEL);
}

/** Folder of the image model that ships. */
export function shippedImageModelPath(): string {
  return folderOf(SHIPPED_IMAGE_MODEL);
}

/** Folder of the video model that ships. */
export function shippedVideoModelPath(): string {
  return folderOf(SHIPPED_VIDEO_MODEL);
}

/** The folder of the shipped model of that name; null where none is called so. */
export function shippedFolder(name: string): string | null {
  if (!SHIPPED.includes(name)) return null;
  const folder = folderOf(name);
  return SETTINGS.some((file) => existsSync(join(folder, file))) ? folder : null;
}

function folderOf(name: string): string {
  return fileURLToPath(new URL(`../../models/${name}`, import.meta.url));
}
