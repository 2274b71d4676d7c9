// Signs of adapters for models of no built-in family, so that a refusal can name what they fit.

import type { AdapterSign } from '../../../files/lora/scheme.ts';

export const UNBUILT_ADAPTERS: readonly AdapterSign[] = [
  {
    models: 'HunyuanVideo',
    module: /(?:double_blocks\.\d+\.(?:img|txt)_attn_(?:qkv|proj)$|individual_token_refiner)/,
  },
  { models: 'Wan', module: /(?:^|\.|lora_unet_)blocks[._]\d+[._](?:self_attn|cross_attn|ffn|attn[12])[._]/ },
  { models: 'Lumina 2', module: /(?:^|[._])layers[._]\d+[._]attention[._](?:qkv|to_q)$/, columns: 2304 },
  { models: 'PixArt', module: /transformer_blocks[._]\d+[._]attn1[._]to_q$/, columns: 1152 },
];
