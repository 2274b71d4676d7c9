// The kinds of models that are built in.

import { EMBEDDING } from './embedding.ts';
import { IMAGE } from './image.ts';
import type { AnyKind } from './model-kind.ts';
import { TEXT } from './text.ts';

export const KINDS = [TEXT, IMAGE, EMBEDDING] as readonly AnyKind[];
