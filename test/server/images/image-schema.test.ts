import { describe, expect, it } from 'vitest';
import { EDIT_FIELDS, IMAGE_FIELDS, validateImage } from '../../../src/server/images/image-schema.ts';
import { formOf, pngFile, readReply, startImages } from './image-harness.ts';

function refusal(body: object, operation: 'generation' | 'edit' = 'generation') {
  try {
    validateImage({ prompt: 'x', ...body }, operation, true);
  } catch (error) {
    return error as { code: string; param: string; message: string };
  }
  return expect.fail(`accepted ${JSON.stringify(body)}`);
}

describe('an invalid image request is refused under the name of its field', () => {
  it.each<[object, string, string, RegExp]>([
    [{ prompt: null }, 'prompt', 'missing_required_parameter', /say what to draw/],
    [{ prompt: 3 }, 'prompt', 'invalid_type', /must be a string, got 3/],
    [{ n: 0 }, 'n', 'invalid_value', /at least 1, got 0/],
    [{ n: 11 }, 'n', 'invalid_value', /at most 10, got 11/],
    [{ n: 1.5 }, 'n', 'invalid_type', /whole number/],
    [{ size: '10 x 20' }, 'size', 'invalid_value', /"1024x1024"/],
    [{ size: '64x64', width: 32 }, 'width', 'invalid_value', /width is 32, and size is 64x64/],
    [{ width: 7 }, 'width', 'invalid_value', /at least 8/],
    [{ num_inference_steps: 0 }, 'num_inference_steps', 'invalid_value', /at least 1/],
    [{ guidance_scale: -1 }, 'guidance_scale', 'invalid_value', /at least 0/],
    [{ guidance_scale: 1e39 }, 'guidance_scale', 'invalid_value', /at most 1000/],
    [{ seed: -1 }, 'seed', 'invalid_value', /at least 0/],
    [{ seed: [] }, 'seed', 'invalid_value', /at least 1 entry/],
    [{ seed: [1, 2], n: 3 }, 'seed', 'invalid_value', /2 entries, and n is 3/],
    [{ seed: [1, 'x'] }, 'seed.1', 'invalid_type', /number/],
    [{ generator_device: 'tpu' }, 'generator_device', 'invalid_value', /cpu, cuda/],
    [{ response_format: 'png' }, 'response_format', 'invalid_value', /b64_json, url/],
    [{ response_format: 'url', stream: true }, 'response_format', 'invalid_value', /send b64_json/],
    [{ output_format: 'gif' }, 'output_format', 'invalid_value', /png, jpeg, webp/],
    [{ output_compression: 50 }, 'output_compression', 'invalid_value', /PNG loses nothing/],
    [{ output_quality: 'low' }, 'output_quality', 'invalid_value', /PNG loses nothing/],
    [{ output_quality: 'best' }, 'output_quality', 'invalid_value', /low, medium, high, maximum/],
    [{ flow_shift: 0 }, 'flow_shift', 'invalid_value', /greater than 0/],
    [{ max_sequence_length: 0 }, 'max_sequence_length', 'invalid_value', /at least 1/],
    [{ partial_images: 2 }, 'partial_images', 'invalid_value', /needs stream/],
    [{ partial_images: 4, stream: true }, 'partial_images', 'invalid_value', /at most 3/],
    [
      { diffusers_kwargs: { a: 1 }, generic_kwargs: { b: 2 } },
      'generic_kwargs',
      'invalid_value',
      /another name/,
    ],
    [{ diffusers_kwargs: [1] }, 'diffusers_kwargs', 'invalid_type', /an object/],
    [{ quality: 'best' }, 'quality', 'invalid_value', /none of auto, standard, hd, low, medium, high, which/],
    [{ style: 3 }, 'style', 'invalid_value', /none of vivid, natural/],
    [{ background: 'transparent' }, 'background', 'unsupported', /"auto"/],
    [{ enable_teacache: 1 }, 'enable_teacache', 'invalid_type', /must be a boolean/],
    [{ true_cfg_scale: 4 }, 'true_cfg_scale', 'unsupported', /leave it out/],
    [{ strength: 0.5 }, 'strength', 'unsupported', /images\/edits/],
    [{ image: 'x' }, 'image', 'unsupported', /images\/edits/],
    [{ wibble: 1 }, 'wibble', 'unknown_parameter', /wibble is not a field/],
  ])('%j', (body, param, code, message) => {
    expect(refusal(body)).toMatchObject({ param, code, message: expect.stringMatching(message) });
  });

  it.each<[object, string, string, RegExp]>([
    [{}, 'image', 'missing_required_parameter', /image to start from/],
    [{ image: 'text' }, 'image', 'invalid_value', /must be a file/],
    [{ url: 'https://example.org/x.png' }, 'url', 'unsupported', /fetches nothing/],
    [{ image: new File([], 'x'), url: 'data:image/png;base64,AA' }, 'url', 'invalid_value', /send one/],
    [{ image: new File([], 'x'), strength: 0 }, 'strength', 'invalid_value', /greater than 0/],
    [{ image: new File([], 'x'), input_fidelity: 'high' }, 'input_fidelity', 'unsupported', /"low"/],
  ])('of an edit %j', (body, param, code, message) => {
    expect(refusal(body, 'edit')).toMatchObject({ param, code, message: expect.stringMatching(message) });
  });

  it('and passes with every neutral value', () => {
    for (const [name, field] of Object.entries({ ...IMAGE_FIELDS, ...EDIT_FIELDS })) {
      if (field.status === 'honoured') continue;
      const operation = name in EDIT_FIELDS ? 'edit' : 'generation';
      const image = operation === 'edit' ? { image: new File([], 'x') } : {};
      for (const value of [null, ...field.neutral]) {
        expect(validateImage({ prompt: 'x', ...image, [name]: value }, operation, true).ignored).toEqual([]);
      }
    }
  });
});

describe('an error that only the model finds has the client’s name of the field', () => {
  it.each<[object, string, string]>([
    [{ size: '33x24' }, 'size', 'the nearest are 32 and 40'],
    [{ width: 33 }, 'width', 'the nearest are 32 and 40'],
    [{ prompt: 'refuse context_length_exceeded' }, '', 'refused'],
  ])('%j', async (body, param, message) => {
    const { generate, model } = await startImages();
    const response = await generate(body);
    expect(response.status).toBe(400);
    const { error } = await readReply(response);
    expect(error?.message).toContain(message);
    expect(error?.param ?? '').toBe(param);
    expect(model.requests).toEqual([]);
  });

  it('of images that cannot be read, and masks of other proportions', async () => {
    const { edit } = await startImages();
    const image = await pngFile(16, 16, '#ff0000');
    const broken = await readReply(
      await edit(formOf({ prompt: 'x', image: new File(['no image'], 'x.png') })),
    );
    expect(broken.error).toMatchObject({ code: 'invalid_value', param: 'image' });
    const mask = await pngFile(16, 24, '#ff0000');
    const skewed = await readReply(await edit(formOf({ prompt: 'x', image, mask })));
    expect(skewed.error).toMatchObject({ param: 'mask', message: expect.stringContaining('16 × 24') });
    const two = await readReply(await edit(formOf({ prompt: 'x', image, mask: [image, image] })));
    expect(two.error).toMatchObject({ param: 'mask', message: expect.stringContaining('one file') });
    const many = Array<File>(17).fill(image);
    const crowd = await readReply(await edit(formOf({ prompt: 'x', 'image[]': many })));
    expect(crowd.error).toMatchObject({ param: 'image', message: expect.stringContaining('one file') });
  });

  it('of bodies that are no form', async () => {
    const { url } = await startImages();
    const send = (type: string) =>
      fetch(`${url}/v1/images/edits`, { method: 'POST', body: '{}', headers: { 'content-type': type } });
    const json = await readReply(await send('application/json'));
    expect(json.error).toMatchObject({ code: 'invalid_content_type' });
    const cut = await readReply(await send('multipart/form-data; boundary=x'));
    expect(cut.error).toMatchObject({ code: 'invalid_form' });
    for (const type of ['multipart/form-data', 'multipart/form-data; charset=utf-8']) {
      const { error } = await readReply(await send(type));
      expect(error).toMatchObject({
        code: 'invalid_content_type',
        message: expect.stringContaining('names no boundary'),
      });
    }
  });

  it('lists names that nobody knows', async () => {
    const { generate } = await startImages();
    const response = await generate({ wibble: 1 });
    expect(response.headers.get('x-svc-ignored')).toBe('wibble');
  });
});
