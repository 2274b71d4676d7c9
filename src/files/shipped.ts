// Models that ship with the package, in models/ beside src/ and dist/.

import { fileURLToPath } from 'node:url';

const SHIPPED_CHAT_MODEL = 'svc-chat-mini';
const SHIPPED_IMAGE_MODEL = 'svc-scenes-mini';

/** Folder of the chat model that ships. */
export function shippedModelPath(): string {
  return folderOf(SHIPPED_CHAT_MODEL);
}

/** Folder of the image model that ships. */
export function shippedImageModelPath(): string {
  return folderOf(SHIPPED_IMAGE_MODEL);
}

function folderOf(name: string): string {
  return fileURLToPath(new URL(`../../models/${name}`, import.meta.url));
}
