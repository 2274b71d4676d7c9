// Checks of a page's options, settings and files, each error with its remedy.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { withPaths } from '../../../src/host/page/given-files.ts';
import { checkHub, checkLoras, checkModel, checkPageOptions } from '../../../src/host/page/page-rules.ts';
import type { EngineError } from '../../../src/files/error.ts';

afterEach(() => vi.unstubAllGlobals());

function thrownBy(check: () => void): EngineError {
  try {
    check();
  } catch (error) {
    return error as EngineError;
  }
  throw new Error('nothing was thrown');
}

describe('the option model', () => {
  const readable = (name: string) => ({ name, size: 1, read: () => new Uint8Array(1) });

  it('is an id, files, or a folder', () => {
    class Handle {
      readonly kind = 'directory';
    }
    vi.stubGlobal('FileSystemDirectoryHandle', Handle);
    checkModel('org/name');
    checkModel([new File(['{}'], 'config.json'), readable('model.safetensors')]);
    checkModel(new Handle());
  });

  it.each([
    [undefined, 'must be the id of a model'],
    [null, 'must be the id of a model'],
    [7, 'must be the id of a model'],
    ['', 'a text that is not empty'],
    [{ name: 'x' }, 'must be the id of a model'],
    [new File([], 'a.gguf'), 'is one file'],
    [[1], 'model.0 must be a File'],
    [[{ name: 'a', size: 1 }], 'model.0 must be a File'],
    [[{ ...readable(''), size: 1 }], 'model.0.name'],
    [[{ ...readable('a'), size: 1.5 }], 'model.0.size'],
    [[readable('a'), readable('a')], 'two files named a'],
  ])('%o is refused', (model, words) => {
    const error = thrownBy(() => checkModel(model));
    expect(error.code).toBe('bad_request');
    expect(error.message).toContain(words);
  });

  it.each([
    ['FileList', '[...input.files]'],
    ['FileSystemFileHandle', 'getFile()'],
  ])('a %s is refused with the form to use', (name, remedy) => {
    class Given {
      readonly name = name;
    }
    vi.stubGlobal(name, Given);
    expect(thrownBy(() => checkModel(new Given())).message).toContain(remedy);
  });
});

describe('the option loraPaths', () => {
  const files = [new File(['{}'], 'adapter_config.json')];

  it('takes ids, and names with files', () => {
    checkLoras(['style=org/name', 'org/other', { name: 'own', files }]);
  });

  it.each([
    ['org/name', 'loraPaths', 'a list'],
    [[7], 'loraPaths.0', 'an object with name and files'],
    [[{ files }], 'loraPaths.0.name', 'a text'],
    [[{ name: 'a=b', files }], 'loraPaths.0.name', 'without ='],
    [[{ name: 'a', files: 'org/name' }], 'loraPaths.0.files', 'must be a list of files'],
    [[{ name: 'a', files: [1] }], 'loraPaths.0.files.0', 'must be a File'],
    [['x', { name: 'a', files }, { name: 'a', files }], 'loraPaths.2.name', 'no other adapter'],
  ])('%o are refused', (adapters, param, words) => {
    expect(thrownBy(() => checkLoras(adapters))).toMatchObject({
      code: 'bad_request',
      param,
      message: expect.stringContaining(words) as string,
    });
  });

  it('gets paths in place of files, as models do', () => {
    const given = { model: files, loraPaths: ['style=org/name', { name: 'own', files }], sleepAfter: 5 };
    expect(withPaths(given)).toEqual({
      options: {
        model: 'page:/files',
        loraPaths: ['style=org/name', 'own=page:/adapter own'],
        sleepAfter: 5,
      },
      files: { 'page:/files': files, 'page:/adapter own': files },
      ids: ['org/name'],
    });
    expect(withPaths({ model: 'org/model' })).toEqual({
      options: { model: 'org/model' },
      files: {},
      ids: ['org/model'],
    });
  });
});

describe('the options componentPaths and transformerWeightsPath', () => {
  const files = [new File(['{}'], 'config.json')];

  it('take ids or files, which get paths', () => {
    const given = {
      model: 'org/a',
      componentPaths: { vae: files, unet: 'org/b' },
      transformerWeightsPath: files,
    };
    const [vae, weights] = ['page:/component vae', 'page:/weights of the transformer'];
    expect(withPaths(given)).toEqual({
      options: { model: 'org/a', componentPaths: { vae, unet: 'org/b' }, transformerWeightsPath: weights },
      files: { [vae]: files, [weights]: files },
      ids: ['org/a', 'org/b'],
    });
  });

  it('take LoRAs of an image model in a list', () => {
    const path = 'page:/adapter 2';
    expect(withPaths({ model: 'org/a', loraPath: ['org/b:c.safetensors', files] })).toEqual({
      options: { model: 'org/a', loraPath: ['org/b:c.safetensors', path] },
      files: { [path]: files },
      ids: ['org/a', 'org/b:c.safetensors'],
    });
  });

  it('get paths of their own', () => {
    const named = [new File(['{}'], 'component vae.gguf')];
    const given = { model: named, componentPaths: { 'vae.gguf': files } };
    expect(Object.keys(withPaths(given).files)).toEqual([
      'page:/component vae.gguf',
      'page:/component vae.gguf+',
    ]);
  });

  it.each([
    [{ componentPaths: files }, 'componentPaths'],
    [{ componentPaths: { vae: 7 } }, 'componentPaths.vae'],
    [{ transformerWeightsPath: new File([], 'a.gguf') }, 'transformerWeightsPath'],
    [{ loraPath: 'org/b' }, 'loraPath'],
    [{ loraPath: ['org/b', 7] }, 'loraPath.1'],
  ])('%o is refused', (options, param) =>
    expect(thrownBy(() => withPaths({ model: 'org/a', ...options }))).toMatchObject({
      code: 'bad_request',
      param,
    }),
  );
});

describe('options of a page', () => {
  it('that exist in Node only are refused with what to use instead', () => {
    for (const [name, value] of Object.entries({
      inline: true,
      storageCache: 'file',
      storageCacheBytes: 1e9,
      loraDir: 'loras',
    }))
      expect(thrownBy(() => checkPageOptions({ [name]: value }))).toMatchObject({
        code: 'unsupported',
        param: name,
        message: expect.stringContaining('does not exist in a page; ') as string,
      });
    checkPageOptions({ inline: false, hostCache: 1e6, safe: true });
  });
});

describe('the option hub', () => {
  it('takes an address and a token', () => {
    checkHub(undefined);
    checkHub({ endpoint: 'http://127.0.0.1:8080/', token: 'hf_x' });
  });

  it.each([
    ['models'],
    [{ endpoint: 'hf.co' }],
    [{ endpoint: 'ftp://hf.co' }],
    [{ token: 1 }],
    [{ url: 'https://x' }],
  ])('%o is refused', (settings) => expect(thrownBy(() => checkHub(settings)).code).toBe('bad_request'));
});
