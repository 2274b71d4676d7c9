// The kinds of models that are built in.

import { EMBEDDING } from './embedding.ts';
import { IMAGE } from './image.ts';
import type { AnyKind } from './model-kind.ts';
import { TEXT } from './text.ts';
import { TRANSCRIPTION } from './transcription.ts';

/** The kinds by their names. */
export const KINDS = {
  text: TEXT,
  image: IMAGE,
  embedding: EMBEDDING,
  transcription: TRANSCRIPTION,
} as const;

export const ALL_KINDS: readonly AnyKind[] = Object.values(KINDS);
