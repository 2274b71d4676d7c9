// Files of models that are not built in, by the names of their tensors, and tensors of checkpoints that take no part in drawing. source:
// diffusers' loaders/single_file_utils.py

import type { UnbuiltFiles } from '../../../files/pipeline/pipeline-classes.ts';

const file = (holds: string, ...signs: RegExp[]): UnbuiltFiles => ({ holds, signs });

/** A sign that other families have too stands behind those that are more specific. */
export const UNBUILT_FILES: readonly UnbuiltFiles[] = [
  file(
    'a ControlNet of another family',
    /^(controlnet_(blocks|single_blocks|x_embedder|pos_embed)|control_all_x_embedder)/,
  ),
  file('a T2I-Adapter', /^adapter\.body\.|^body\.0\.block1\./),
  file('an IP-Adapter of another family', /^image_proj\.(?!proj|norm|latents|layers|perceiver)/),
  file('Stable Cascade', /clip_txt_mapper\.|down_blocks\.1\.0\.channelwise\./),
  file('AnimateDiff, which makes videos', /motion_modules\./),
  file('AuraFlow', /(^|\.)double_layers\.0\.attn\.w1q\./),
  file('Chroma Radiance, which draws pixels', /(^|\.)nerf_image_embedder\./),
  file('HunyuanVideo, which makes videos', /(^|\.)txt_in\.individual_token_refiner\./),
  file('LTX-Video, which makes videos', /(^|\.)patchify_proj\./),
  file('Mochi, which makes videos', /(^|\.)blocks\.0\.attn\.qkv_x\./),
  file('Wan, which makes videos', /(^|\.)(head\.modulation$|condition_embedder\.time_proj\.)/),
  file('Cosmos', /(^|\.)net\.x_embedder\.proj\.1\./),
  file('HiDream', /(^|\.)double_stream_blocks\.0\.block\./),
  file('Qwen-Image 2.1', /(^|\.)txt_in\.text_norm\./),
  file(
    'PixArt',
    /(^|\.)(t_block\.1\.weight|adaln_single\.linear\.weight)$/,
    /(^|\.)caption_projection\.|y_embedder\./,
  ),
  file('Lumina 2', /(^|\.)cap_embedder\.0\.weight$/, /(^|\.)layers\.0\.attention\.qkv\./),
  file('an unCLIP model', /(^|\.)label_emb\.0\.0\./, /^embedder\.model\./),
];

/** Weights of the training, constants of the noise schedule, and marks that describe a model. */
export const UNREAD_TENSORS =
  /^(model_ema\.|(betas|alphas_cumprod(_prev)?|logvar|lvlb_weights|global_step|v_pred|ztsnr|edm_mean|edm_std|scaled_fp8)$|(sqrt|log)_\w+$|posterior_\w+$|denoiser\.|loss\.|(cond_stage_model(\.model)?|text_encoders\.\w+)\.logit_scale$)/;
