// Pipelines of diffusers and files of models that are not built in, and components and tensors of published ones that do not affect the image.
// source: diffusers' loaders/single_file_utils.py

import type {
  PipelineTask,
  UnbuiltFiles,
  UnbuiltPipelines,
} from '../../../files/pipeline/pipeline-classes.ts';

export const UNBUILT: readonly UnbuiltPipelines[] = [
  {
    classes: /^LTX2/,
    purpose: 'makes videos and their sound, for which this version has no layers',
    needsInput: true,
  },
  {
    classes: /^LTX(LatentUpsample|I2VLong)/,
    purpose: 'makes videos from latents of others, or in windows',
  },
  {
    classes: /^HunyuanVideo/,
    purpose:
      'makes videos with parts that this version does not have (texts by LLaMA and CLIP, blocks of one stream, an autoencoder of its own): it has those of HunyuanVideo 1.5',
    needsInput: true,
  },
  {
    classes:
      /video|^(Wan|CogVideoX|Mochi|Latte|Allegro|AnimateDiff|I2VGenXL|Cosmos|SkyReels|StepVideo|Magi|Helios|MOVA|ConsisID|EasyAnimate|HotshotXL|Kandinsky5[TI]2V|MiniMaxH3)/i,
    purpose: 'makes videos',
    needsInput: true,
  },
  {
    classes: /^(Audio|MusicLDM|StableAudio|DanceDiffusion|ACEStep|Spectrogram)/,
    purpose: 'makes sound',
    needsInput: true,
  },
  {
    classes:
      /^(DDPM|DDIM|PNDM|ScoreSdeVe|KarrasVe|RePaint|LDM|ConsistencyModel)Pipeline$|^LDMSuperResolution/,
    purpose: 'draws without a text: its UNet has no text encoder',
    needsInput: true,
  },
  {
    classes: /^DiT/,
    purpose: 'draws classes of images, not texts: its denoiser has no text encoder',
    needsInput: true,
  },
  {
    classes: /InstructPix2Pix/,
    purpose: 'edits an image that its UNet is given in channels of its own',
    needsInput: true,
  },
  {
    classes: /Upscale/,
    purpose: 'enlarges an image that its UNet is given in channels of its own',
    needsInput: true,
  },
  { classes: /Depth2Img/, purpose: 'gives its UNet a depth map in a channel of its own', needsInput: true },
  { classes: /ImageVariation|UnCLIP/i, purpose: 'draws from the embedding of an image', needsInput: true },
  { classes: /GLIGEN/, purpose: 'places objects in boxes by layers of its own', needsInput: true },
  { classes: /LDM3D/, purpose: 'draws an image and its depth', needsInput: true },
  { classes: /^Flux2KleinKV/, purpose: 'computes the images that it sees in the first step only' },
  { classes: /^Flux2KleinInpaint/, purpose: 'fills masks in images beside those that it sees' },
  { classes: /^SanaSprint/, purpose: 'draws in few steps by a schedule of its own (SCM)' },
  { classes: /PAG/, purpose: 'steers by perturbed attention (PAG)' },
  {
    classes: /^FluxPriorRedux/,
    purpose: 'makes embeddings of an image for another pipeline',
    needsInput: true,
  },
  {
    classes: /ControlNetUnion/,
    purpose: 'steers by several kinds of images in one network (ControlNet-Union)',
  },
  { classes: /ControlNet/, purpose: 'steers by a control image (ControlNet)' },
  { classes: /Adapter/, purpose: 'steers by a control image (T2I-Adapter)' },
  { classes: /LEdits/, purpose: 'edits an image that it takes back to noise (LEDITS++)' },
  { classes: /Semantic/, purpose: 'steers by further texts (semantic guidance)' },
  { classes: /SAG/, purpose: 'steers by self-attention (SAG)' },
  { classes: /Safe/, purpose: 'steers away from unsafe concepts' },
  { classes: /AttendAndExcite/, purpose: 'steers by the attention to single tokens' },
  { classes: /Panorama/, purpose: 'joins views into a panorama' },
  {
    classes: /DiffEdit|CycleDiffusion|Pix2PixZero|Inversion/,
    purpose: 'edits an image that it takes back to noise',
  },
  { classes: /KDiffusion/, purpose: 'samples with the schedules of another library' },
];

/** Components that are not read, with the pattern of their classes. A pipeline may lack them. */
export const UNREAD_COMPONENTS: ReadonlyMap<string, RegExp> = new Map([
  ['safety_checker', /SafetyChecker$/],
  ['feature_extractor', /(FeatureExtractor|Processor)(Fast|Pil)?$/],
  ['image_processor', /Processor(Fast|Pil)?$/],
  ['image_encoder', /(Vision|Dino|Siglip|Image)\w*(Model|Projection|Encoder)$/],
]);

/** Returns the task of a class by diffusers' naming conventions. */
export function taskOfClassName(className: string): PipelineTask {
  if (className.includes('Inpaint')) return 'inpainting';
  return className.includes('Img2Img') ? 'image-to-image' : 'text-to-image';
}

const file = (holds: string, ...signs: RegExp[]): UnbuiltFiles => ({ holds, signs });

/** Files by the names of their tensors. A sign that other families have too stands behind those that are more specific. */
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
  file(
    'a part of HunyuanVideo 1.5, whose pipelines are read from the folders of diffusers alone',
    /(^|\.)(byt5_in\.|context_embedder_2\.)/,
  ),
  file('HunyuanVideo, which makes videos', /(^|\.)txt_in\.individual_token_refiner\./),
  file('LTX-2, which makes videos and their sound', /(^|\.)audio_patchify_proj\./),
  file('Mochi, which makes videos', /(^|\.)blocks\.0\.attn\.qkv_x\./),
  file('a variant of Wan, which makes videos', /(^|\.)(head\.modulation$|condition_embedder\.time_proj\.)/),
  file('Cosmos', /(^|\.)net\.x_embedder\.proj\.1\./),
  file('HiDream', /(^|\.)double_stream_blocks\.0\.block\./),
  file('Qwen-Image 2.1', /(^|\.)txt_in\.text_norm\./),
  file(
    'PixArt',
    /(^|\.)(t_block\.1\.weight|adaln_single\.linear\.weight)$/,
    /(^|\.)caption_projection\.|y_embedder\./,
  ),
  file('an unCLIP model', /(^|\.)label_emb\.0\.0\./, /^embedder\.model\./),
];

/** Weights of the training, constants of the noise schedule, and marks that describe a model. */
export const UNREAD_TENSORS =
  /^(model_ema\.|(betas|alphas_cumprod(_prev)?|logvar|lvlb_weights|global_step|v_pred|ztsnr|edm_mean|edm_std|scaled_fp8)$|(sqrt|log)_\w+$|posterior_\w+$|denoiser\.|loss\.|(cond_stage_model(\.model)?|text_encoders\.\w+)\.logit_scale$)/;
