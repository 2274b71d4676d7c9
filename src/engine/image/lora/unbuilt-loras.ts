// Signs of adapters for models of no built-in family, so that a refusal can name what they fit.

import type { AdapterSign } from '../../../files/lora/scheme.ts';

export const UNBUILT_LORAS: readonly AdapterSign[] = [
  {
    models: 'HunyuanVideo',
    module: /(?:double_blocks\.\d+\.(?:img|txt)_attn_(?:qkv|proj)$|individual_token_refiner)/,
  },
  // The names of FLUX.1, in one block more.
  {
    models: 'HunyuanVideo',
    module: /double_blocks[._](\d+)[._](?:img|txt)_attn[._]/,
    width: 3072,
    last: [19, 19],
  },
  { models: 'AuraFlow', module: /joint_transformer_blocks[._]\d+[._]/ },
  {
    models: 'LTX-Video',
    module: /(?:^|\.|lora_unet_)transformer_blocks[._]\d+[._]attn[12][._]/,
    width: 2048,
  },
  { models: 'Wan', module: /(?:^|\.|lora_unet_)blocks[._]\d+[._](?:self_attn|cross_attn|ffn|attn[12])[._]/ },
  { models: 'Lumina 2', module: /(?:^|[._])layers[._]\d+[._]attention[._](?:qkv|to_q)$/, columns: 2304 },
];
