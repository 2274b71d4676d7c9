// Text architecture of GLM-4.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { GLMS, readGlmConfig } from './glm-config.ts';
import { GLM_GGUF } from './glm-gguf.ts';
import { llamaLayer } from '../llama/llama.ts';
import { sandwichLayer } from '../blocks/sandwich-norm.ts';

export const GLM = decoderArchitecture({
  classes: Object.entries(GLMS),
  gguf: GLM_GGUF,
  read: readGlmConfig,
  layer: (config, weights, name, i) =>
    config.norms
      ? sandwichLayer({ ...config, ...config.norms }, weights, name, i)
      : llamaLayer(config, weights, name, i),
});
