// The families of media models that are built in. A new one is one line here.

import type { MediaFamily } from './media.ts';
import { INTERNVL } from './vision/internvl-media.ts';

const families: MediaFamily[] = [INTERNVL];

/** The family of a class of config.json; null: it reads text only. */
export function mediaFamily(className: string): MediaFamily | null {
  return families.find(({ classes }) => classes.includes(className)) ?? null;
}
