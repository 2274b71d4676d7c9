// The bytes of the text that is embedded in image files.

import { describe, expect, it } from 'vitest';
import { embeddedText, embedText } from '../../../src/files/image/image-embed.ts';

const TEXT = 'ä солнце 🎈\n: x';
const SIZE = { width: 300, height: 70_000 };
const EXIF =
  '4d4d002a00000008000187690004000000010000001a00000000000192860007000000260000002c00000000' +
  '554e49434f44450000e400200441043e043b043d044604350020d83cdf88000a003a00200078';
const PNG_HEAD = '89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de';
const PNG_END = '0000000049454e44ae426082';

const bytes = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, 'hex'));
const hex = (file: Uint8Array): string => Buffer.from(file).toString('hex');

describe('embedText', () => {
  it('inserts an iTXt chunk behind the header of a PNG', () => {
    const chunk =
      '0000002769545874' +
      '706172616d65746572730000000000' +
      'c3a420d181d0bed0bbd0bdd186d0b520f09f8e880a3a2078' +
      'd7146813';
    expect(hex(embedText(bytes(PNG_HEAD + PNG_END), TEXT, SIZE))).toBe(PNG_HEAD + chunk + PNG_END);
  });

  it('inserts an EXIF segment at the beginning of a JPEG', () => {
    expect(hex(embedText(bytes('ffd8ffdb'), TEXT, SIZE))).toBe(`ffd8ffe1005a457869660000${EXIF}ffdb`);
  });

  it('makes a WebP file an extended one with an EXIF chunk', () => {
    const simple = bytes('524946461000000057454250565038200400000012345678');
    expect(hex(embedText(simple, TEXT, SIZE))).toBe(
      '524946467c00000057454250' +
        '565038580a000000080000002b01006f1101' +
        '565038200400000012345678' +
        `4558494652000000${EXIF}`,
    );
  });

  it('appends an EXIF chunk to an extended WebP file, and sets its flag', () => {
    const extended = (flags: string) =>
      `57454250565038580a000000${flags}0000002b01006f1101565038200400000012345678`;
    const file = embedText(bytes(`524946462a000000${extended('20')}`), TEXT, SIZE);
    expect(hex(file)).toBe(`524946467c000000${extended('28')}4558494652000000${EXIF}`);
  });

  it.each(['', '\ufeffbegins with a mark', 'half of a pair: \ud83c', 'ascii', '\u00ff\u0100'])(
    'stores %j in a JPEG and a WebP file, and in a PNG as far as UTF-8 can',
    (text) => {
      const webp = bytes('524946461000000057454250565038200400000012345678');
      expect(embeddedText(embedText(bytes('ffd8ffdb'), text, SIZE))).toBe(text);
      expect(embeddedText(embedText(webp, text, SIZE))).toBe(text);
      expect(embeddedText(embedText(bytes(PNG_HEAD + PNG_END), text, SIZE))).toBe(
        text.replace('\ud83c', '\ufffd'),
      );
    },
  );
});
