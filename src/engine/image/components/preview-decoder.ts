// The small autoencoder that a user gives for previews, beside the one that decodes results. Every pipeline may have one.

import type { PipelineComponents } from '../../../files/pipeline/pipeline-classes.ts';
import { TAEHV_LAYOUTS } from '../layouts/taehv.ts';

/** Name of the component. */
export const PREVIEWS = 'preview_decoder';

export const PREVIEW_DECODER: PipelineComponents = {
  [PREVIEWS]: {
    kind: 'model',
    library: 'diffusers',
    classes: ['AutoencoderTiny', 'TAEHV'],
    role: 'autoencoder',
    optional: true,
    onlyGiven: true,
    layouts: TAEHV_LAYOUTS,
  },
};
