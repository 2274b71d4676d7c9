// What this build opens: models of all kinds.

import { PIPELINE_CLASSES } from '../engine/image/families/class-names.ts';
import { supportedWith } from '../engine/opening/supported.ts';

export const SUPPORTED = supportedWith(Object.keys(PIPELINE_CLASSES));
