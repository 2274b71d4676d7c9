import OpenAI, { toFile } from 'openai';
import { describe, expect, it } from 'vitest';
import { eventually } from '../harness.ts';
import { formOf, look, pngFile, readReply, startImages } from './image-harness.ts';

describe('the route POST /v1/images/generations', () => {
  it('draws what is asked for, by the model’s own values where nothing is said', async () => {
    const { generate, model } = await startImages();
    const response = await generate({ seed: 7 });
    expect(response.status).toBe(200);
    const reply = await readReply(response);
    expect(reply).toMatchObject({
      id: expect.stringMatching(/^img-/),
      created: expect.any(Number),
      background: 'opaque',
      output_format: 'png',
      size: '32x24',
      peak_memory_mb: expect.any(Number),
      inference_time_s: 0.3,
    });
    expect(reply.data).toHaveLength(1);
    expect(reply.data[0]).toMatchObject({ seed: 7, revised_prompt: 'a house' });
    expect(reply.usage).toEqual({
      total_tokens: 14,
      input_tokens: 2,
      output_tokens: 12,
      input_tokens_details: { text_tokens: 2, image_tokens: 0 },
    });
    expect(await look(reply.data[0]?.b64_json)).toEqual({ format: 'png', width: 32, height: 24, red: 7 });
    expect(model.requests).toEqual([{ prompt: 'a house', seed: 7 }]);
  });

  it('hands on the images of ControlNets, in data: URLs or as files of a form', async () => {
    const { generate, edit, model } = await startImages();
    const files = [await pngFile(16, 8, { r: 9, g: 0, b: 0, alpha: 1 }), await pngFile(8, 8, '#070000')];
    const urls = await Promise.all(
      files.map(
        async (file) => `data:image/png;base64,${Buffer.from(await file.arrayBuffer()).toString('base64')}`,
      ),
    );
    const numbers = { controlnet_conditioning_scale: [0.5, 2], control_guidance_end: 0.75 };
    const sent = await generate({ seed: 1, control_image: urls, ...numbers });
    expect(sent.status).toBe(200);
    const form = formOf({ prompt: 'x', image: files[0]!, 'control_image[]': files });
    expect((await edit(form)).status).toBe(200);
    expect((await edit(formOf({ prompt: 'x', image: files[0]!, control_image: files[1]! }))).status).toBe(
      200,
    );
    const given = model.requests.map(({ controlImages = [], controlScale, controlEnd }) => {
      return [controlImages.map(({ width, data }) => [width, data[0]]), controlScale, controlEnd];
    });
    const both = [
      [16, 9],
      [8, 7],
    ];
    expect(given).toEqual([
      [both, [0.5, 2], [0.75]],
      [both, undefined, undefined],
      [[[8, 7]], undefined, undefined],
    ]);
    const wrong = await generate({ control_image: 'https://example.org/a.png' });
    expect(await readReply(wrong)).toMatchObject({ error: { param: 'control_image' } });
  });

  it('hands every field on under the engine’s name', async () => {
    const { generate, model } = await startImages();
    const response = await generate({
      model: 'fake-scenes',
      n: 2,
      size: '64x48',
      width: 64,
      negative_prompt: '',
      num_inference_steps: 3,
      guidance_scale: 0,
      guidance_rescale: 0.5,
      seed: 5,
      generator_device: 'cuda',
      scheduler: 'EulerDiscrete',
      clip_skip: 1,
      vae_tiling: true,
      max_sequence_length: 77,
      flow_shift: 2.5,
      diffusers_kwargs: { eta: 0.5 },
      quality: 'auto',
      style: 'vivid',
      background: 'opaque',
      user: 'somebody',
      moderation: 'low',
    });
    expect(response.status).toBe(200);
    expect((await readReply(response)).data.map(({ seed }) => seed)).toEqual([5, 6]);
    expect(model.requests).toEqual([
      {
        prompt: 'a house',
        samples: 2,
        width: 64,
        height: 48,
        negativePrompt: '',
        steps: 3,
        guidance: 0,
        guidanceRescale: 0.5,
        seed: 5,
        generatorDevice: 'cuda',
        scheduler: 'EulerDiscrete',
        clipSkip: 1,
        tiling: true,
        maxSequenceLength: 77,
        flowShift: 2.5,
        kwargs: { eta: 0.5 },
      },
    ]);
  });

  it('draws an empty prompt', async () => {
    const { generate, model } = await startImages();
    expect((await generate({ prompt: '', seed: 5 })).status).toBe(200);
    expect(model.requests).toMatchObject([{ prompt: '' }]);
  });

  it('draws a random seed and tells it, and one image for each of a list', async () => {
    const { generate, model } = await startImages();
    const [one, two] = await Promise.all([generate({}).then(readReply), generate({}).then(readReply)]);
    expect(one.data[0]?.seed).not.toBe(two.data[0]?.seed);
    const listed = await readReply(await generate({ seed: [9, 3], generic_kwargs: {} }));
    expect(listed.data.map(({ seed }) => seed)).toEqual([9, 3]);
    const looks = await Promise.all(listed.data.map(({ b64_json }) => look(b64_json)));
    expect(looks.map(({ red }) => red)).toEqual([9, 3]);
    expect(model.requests.slice(2).map(({ seed, samples }) => [seed, samples])).toEqual([
      [9, 1],
      [3, 1],
    ]);
  });

  it.each([
    ['jpeg', { output_compression: 50 }],
    ['webp', {}],
  ])('sends %s', async (format, more) => {
    const { generate } = await startImages();
    const reply = await readReply(await generate({ output_format: format, ...more }));
    expect(reply.output_format).toBe(format);
    expect(await look(reply.data[0]?.b64_json)).toMatchObject({ format });
  });

  it('takes a quality in words, which a number comes before', async () => {
    const { generate } = await startImages();
    const bytes = async (quality: object) => {
      const body = { output_format: 'jpeg', size: '64x64', seed: 1, ...quality };
      return (await readReply(await generate(body))).data[0]?.b64_json;
    };
    expect(await bytes({ output_quality: 'low' })).toBe(await bytes({ output_compression: 35 }));
    expect(await bytes({ output_quality: 'low' })).not.toBe(await bytes({ output_quality: 'high' }));
    expect(await bytes({ output_quality: 'low', output_compression: 90 })).toBe(
      await bytes({ output_quality: 'high' }),
    );
    expect((await generate({ output_quality: 'high' })).status).toBe(200); // this quality is accepted for PNG too
  });

  it('keeps images that are asked for by URL, where a page can fetch them without the key', async () => {
    const { generate, url } = await startImages({ apiKey: 'secret' });
    const headers = { 'content-type': 'application/json', authorization: 'Bearer secret' };
    const reply = await readReply(await generate({ n: 2, seed: 1, response_format: 'url' }, { headers }));
    const urls = reply.data.map((image) => image.url ?? '');
    expect(urls).toEqual([`${url}/v1/images/${reply.id}/content`, `${url}/v1/images/${reply.id}-1/content`]);
    for (const [at, address] of urls.entries()) {
      const response = await fetch(address);
      expect(response.headers.get('content-type')).toBe('image/png');
      const bytes = Buffer.from(await response.arrayBuffer());
      expect(await look(bytes.toString('base64'))).toMatchObject({ red: 1 + at });
    }
    const missing = await fetch(`${url}/v1/images/img-none/content`);
    expect(missing.status).toBe(404);
    expect((await readReply(missing)).error?.code).toBe('not_found');
  });

  it('names words that the model does not know', async () => {
    const { generate } = await startImages();
    expect(await readReply(await generate({ prompt: 'knows cat' }))).toMatchObject({
      unknown_words: ['cat'],
    });
  });

  it('draws for OpenAI’s client', async () => {
    const { url } = await startImages();
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'unused', maxRetries: 0 });
    const { data } = await client.images.generate({
      model: 'default',
      prompt: 'a red balloon',
      n: 2,
      size: '40x24',
      quality: 'hd',
      style: 'natural',
      response_format: 'b64_json',
    });
    expect(data).toHaveLength(2);
    expect(await look(data?.[1]?.b64_json)).toMatchObject({ width: 40, height: 24 });
    const background = client.images.generate({ prompt: 'x', background: 'transparent' });
    await expect(background).rejects.toMatchObject({ status: 400, param: 'background' });
  });
});

describe('the route POST /v1/images/edits', () => {
  it('starts from the image, in its proportions and at most the model’s own pixels', async () => {
    const { edit, model } = await startImages();
    const image = await pngFile(400, 200, '#0a0000');
    const response = await edit(
      formOf({
        prompt: '12',
        'image[]': image,
        n: '2',
        seed: '4',
        strength: '0.5',
        stream: 'false',
        style: 'vivid',
      }),
    );
    expect(response.status).toBe(200);
    const [request] = model.requests;
    expect(request).toMatchObject({ prompt: '12', samples: 2, seed: 4, strength: 0.5 });
    // The model's default size is 32 × 24 pixels.
    expect(request).toMatchObject({ width: 40, height: 16, image: { width: 40, height: 16 } });
    expect(request?.image?.data[0]).toBe(10);
    expect(request?.mask).toBeUndefined();
  });

  it('refuses a long and thin image before it is scaled to a side that no image has', async () => {
    const { edit, model } = await startImages();
    const started = process.memoryUsage.rss();
    const response = await edit(
      formOf({ prompt: 'x', image: await pngFile(8, 4096, '#0a0000'), width: '4096' }),
    );
    expect(response.status).toBe(400);
    expect(await readReply(response)).toMatchObject({ error: { param: 'height' } });
    expect(model.requests).toEqual([]);
    // Decoding it would take 24 GB.
    expect(process.memoryUsage.rss() - started).toBeLessThan(500e6);
  });

  it('takes an image as a data: URL, and a size', async () => {
    const { edit, model } = await startImages();
    const bytes = await (await pngFile(20, 20, '#0b0000')).arrayBuffer();
    const url = `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`;
    const response = await edit(formOf({ prompt: 'x', url, size: '16x32', 'seed[]': ['1', '2'] }));
    expect(response.status).toBe(200);
    expect(model.requests).toHaveLength(2);
    expect(model.requests[0]).toMatchObject({ width: 16, height: 32, image: { width: 16, height: 32 } });
  });

  it('passes several images on, the last of which is the one whose size is taken', async () => {
    const { edit, model } = await startImages();
    const images = await Promise.all([16, 24, 32].map((side) => pngFile(side, 16, '#0a0000')));
    const response = await edit(formOf({ prompt: 'x', 'image[]': images }));
    expect(response.status).toBe(200);
    const [request] = model.requests;
    expect(request?.furtherImages?.map(({ width }) => width)).toEqual([16, 24]);
  });

  it('draws anew where the mask is transparent, or white where nothing of it is', async () => {
    const { edit, model } = await startImages();
    const image = await pngFile(16, 16, '#0a0000');
    const clear = await pngFile(16, 16, { r: 255, g: 255, b: 255, alpha: 0 });
    const masks = [clear, await pngFile(16, 16, '#ffffff'), await pngFile(16, 16, '#000000')];
    for (const mask of masks) {
      const response = await edit(formOf({ prompt: 'x', image, mask }));
      expect(await readReply(response)).not.toHaveProperty('error');
    }
    expect(model.requests.map(({ mask }) => mask?.data[0])).toEqual([255, 255, 0]);
  });

  it('gives an image whole of which a part is drawn', async () => {
    const { edit, model } = await startImages();
    const [image, mask] = [await pngFile(400, 200, '#0a0000'), await pngFile(200, 100, '#ffffff')];
    const crop = '{"padding_mask_crop": 8}';
    const response = await edit(formOf({ prompt: 'x', image, mask, diffusers_kwargs: crop }));
    expect(await readReply(response)).not.toHaveProperty('error');
    expect(model.requests[0]).toMatchObject({ image: { width: 400 }, mask: { width: 200 } });
    expect(model.requests[0]).not.toHaveProperty('width');
  });

  it('edits for OpenAI’s client', async () => {
    const { url, model } = await startImages();
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'unused', maxRetries: 0 });
    const image = await toFile(await pngFile(16, 16, '#0a0000'));
    const mask = await toFile(await pngFile(16, 16, '#ffffff'));
    const { data } = await client.images.edit({ prompt: 'a boat', image: [image], mask, n: 1 });
    expect(await look(data?.[0]?.b64_json)).toMatchObject({ width: 16, height: 16 });
    expect(model.requests[0]).toMatchObject({ prompt: 'a boat', image: { width: 16 }, mask: { width: 16 } });
  });
});

it('stopping the server ends an image that is drawn', async () => {
  const { generate, model, server } = await startImages({ drainTime: 50 });
  const reply = generate({ prompt: 'hang' });
  await eventually(() => model.running === 1, 'it is drawn');
  await server.close();
  expect((await reply).status).toBe(499);
  expect(model.running).toBe(0);
});
