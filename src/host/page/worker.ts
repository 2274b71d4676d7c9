// The engine's worker in a page, for the kinds of models that are built in.

import { ALL_KINDS } from '../kinds/kinds.ts';
import { serveKinds } from './serve.ts';
import type { End } from './thread.ts';

declare const self: typeof globalThis & End;

serveKinds(self, ALL_KINDS);
