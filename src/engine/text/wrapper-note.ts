// The note that only the text model within a checkpoint is opened.

import { countText } from '../../files/count-text.ts';
import type { Wrapper } from '../../files/checkpoint/checkpoint.ts';

export function wrapperNote(opened: string, { architecture, left, leftTensors }: Wrapper): string {
  const unread =
    left.length === 0 ? '' : `; ${countText(leftTensors, 'tensor')} of ${left.join(', ')} are not read`;
  return `${architecture} is opened as its text model, ${opened}, and takes text only${unread}`;
}
