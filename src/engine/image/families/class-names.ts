// Names of the built-in pipeline classes for the public face, whose types must not reach those of a family.

import { pipelineClassNames } from './registry.ts';

export const PIPELINE_CLASSES: readonly string[] = pipelineClassNames();
