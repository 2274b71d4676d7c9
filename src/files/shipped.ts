// Models that ship with the package, in models/ beside src/ and dist/.

import { fileURLToPath } from 'node:url';

const SHIPPED_CHAT_MODEL = 'svc-chat-mini';

/** Folder of the chat model that ships. */
export function shippedModelPath(): string {
  return fileURLToPath(new URL(`../../models/${SHIPPED_CHAT_MODEL}`, import.meta.url));
}
