import { expect, it } from 'vitest';
import { formOf } from '../images/image-harness.ts';
import { eventually } from '../harness.ts';
import { startVideos } from './video-harness.ts';

it('every wrong field of a video is refused under its name', async () => {
  const { create } = await startVideos({ strict: true });
  const wrong: [object, string, string, RegExp][] = [
    [{ prompt: null }, 'prompt', 'missing_required_parameter', /say what to draw/],
    [{ n: 11 }, 'n', 'invalid_value', /at most 10/],
    [{ n: 2, num_outputs_per_prompt: 3 }, 'num_outputs_per_prompt', 'invalid_value', /is 3, and n is 2/],
    [{ num_outputs_per_prompt: 2, seed: [1] }, 'seed', 'invalid_value', /1 entry, and n is 2/],
    [{ seconds: 0 }, 'seconds', 'invalid_value', /seconds/],
    [{ seconds: 'long' }, 'seconds', 'invalid_value', /seconds/],
    [{ fps: 0 }, 'fps', 'invalid_value', /greater than 0/],
    [{ size: '64x64', width: 32 }, 'width', 'invalid_value', /width is 32, and size is 64x64/],
    [{ size: '33x24' }, 'size', 'invalid_value', /nearest are 32 and 40/],
    [{ input_reference: {} }, 'input_reference.image_url', 'missing_required_parameter', /required/],
    [{ input_reference: { file_id: 'f' } }, 'input_reference.file_id', 'unsupported', /send the image/],
    [
      { input_reference: 'data:,', reference_url: 'data:,' },
      'reference_url',
      'invalid_value',
      /send one of them/,
    ],
    [{ output_format: 'avi' }, 'output_format', 'invalid_value', /mp4, webm, webp, gif/],
    [{ output_format: 'gif', fps: 60 }, 'fps', 'invalid_value', /a GIF has at most 50/],
    [{ output_format: 'gif', output_compression: 9 }, 'output_compression', 'invalid_value', /GIF has no/],
    [{ extra_body: 3 }, 'extra_body', 'invalid_type', /JSON object/],
    [{ extra_json: '{' }, '', 'invalid_json', /extra_json/],
    [{ fps: 4, extra_params: { fps: 5 } }, 'extra_params.fps', 'invalid_value', /sent as fps, too/],
    [{ extra_body: { wibble: 1 } }, 'wibble', 'unknown_parameter', /wibble is not a field/],
  ];
  for (const name of ['video_path', 'video_url', 'video_reference', 'output_path', 'perf_dump_path', 'task'])
    wrong.push([{ [name]: 'x' }, name, 'unsupported', /does not do; leave it out/]);
  for (const name of ['frame_interpolation_model_path', 'conditions', 'target'])
    wrong.push([{ [name]: 'x' }, name, 'unsupported', /does not do; leave it out/]);
  for (const name of ['enable_frame_interpolation', 'profile'])
    wrong.push([{ [name]: true }, name, 'unsupported', /send false/]);
  wrong.push(
    [{ frame_interpolation_exp: 2 }, 'frame_interpolation_exp', 'unsupported', /send 1/],
    [{ frame_interpolation_scale: 0.5 }, 'frame_interpolation_scale', 'unsupported', /send 1/],
    [{ upscaling_scale: 9 }, 'upscaling_scale', 'invalid_value', /at most 8/],
    [
      { upscaling_model_path: 'x' },
      'upscaling_model_path',
      'invalid_value',
      /is x, and this server was started with fake-upscaler/,
    ],
    [{ num_profiled_timesteps: 3 }, 'num_profiled_timesteps', 'unsupported', /leave it out/],
    [{ profile_all_stages: true }, 'profile_all_stages', 'unsupported', /send false/],
    [{ audio_flow_shift: 3 }, 'audio_flow_shift', 'unsupported', /leave it out/],
  );
  for (const [body, param, code, message] of wrong) {
    const response = await create(body);
    const { error } = (await response.json()) as { error: object };
    expect([body, response.status, error]).toMatchObject([
      body,
      400,
      { code, message: expect.stringMatching(message), ...(param !== '' && { param }) },
    ]);
  }
});

it('a WebM file is refused before a video is queued where the package that writes it is missing', async () => {
  const { create, client, model } = await startVideos();
  const refused = await create({ output_format: 'webm' });
  expect([refused.status, await refused.json()]).toMatchObject([
    400,
    { error: { code: 'unsupported', message: expect.stringContaining('@mediabunny/server') } },
  ]);
  expect([(await client.videos.list()).data, model.requests]).toEqual([[], []]);
});

it('the fields of a video reach the engine under its names, as JSON, in extra_body and in a form', async () => {
  const { create, model, url } = await startVideos();
  const fields = {
    model: 'fake-scenes',
    num_outputs_per_prompt: 2,
    num_frames: 5,
    fps: 12,
    negative_prompt: 'rain',
    num_inference_steps: 3,
    guidance_scale: 0,
    guidance_rescale: 0.5,
    guidance_scale_2: 3.5,
    true_cfg_scale: 4,
    seed: 5,
    generator_device: 'cuda',
    scheduler: 'EulerDiscrete',
    vae_tiling: true,
    max_sequence_length: 77,
    flow_shift: 2.5,
    diffusers_kwargs: { eta: 0.5 },
    wibble: 1,
  };
  const replies = [await create(fields), await create({ extra_body: fields })];
  const texts = Object.entries(fields).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  const form = formOf({ prompt: 'a wave', output_format: 'webp', ...Object.fromEntries(texts) });
  replies.push(await fetch(`${url}/v1/videos`, { method: 'POST', body: form }));
  for (const { status, headers } of replies)
    expect([status, headers.get('x-svc-ignored')]).toEqual([200, 'wibble']);
  await eventually(() => model.requests.length === 3, 'all are drawn');
  const request = {
    prompt: 'a wave',
    samples: 2,
    frames: 5,
    fps: 12,
    negativePrompt: 'rain',
    steps: 3,
    guidance: 0,
    guidanceRescale: 0.5,
    seed: 5,
    generatorDevice: 'cuda',
    scheduler: 'EulerDiscrete',
    tiling: true,
    maxSequenceLength: 77,
    flowShift: 2.5,
    kwargs: { eta: 0.5, guidance_scale_2: 3.5, true_cfg_scale: 4 },
  };
  expect(model.requests).toEqual([request, request, request]);
});
