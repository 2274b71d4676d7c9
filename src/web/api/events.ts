// Server-sent events as values.

export interface ServerEvent {
  /** Name of the event; '' where it has none. */
  name: string;
  /** Text of its data lines. */
  data: string;
  /** Number of the event in a stream that can be resumed. */
  id?: number;
  /** True for comments, whose text is `data`. */
  isComment: boolean;
}

/** Reads events and comments from a reply's body. Ends with the body, or at OpenAI's mark `[DONE]`. */
export async function* readEvents(response: Response): AsyncGenerator<ServerEvent> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split(/\r?\n\r?\n/);
      rest = blocks.pop()!;
      for (const block of blocks) {
        const event = parseEvent(block);
        if (event.data === '[DONE]') return;
        yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function parseEvent(block: string): ServerEvent {
  const lines = block.split(/\r?\n/);
  const valueOf = (line: string, field: string): string => line.slice(field.length + 1).replace(/^ /, '');
  const data = lines.filter((line) => line.startsWith('data:')).map((line) => valueOf(line, 'data'));
  const name = lines.find((line) => line.startsWith('event:'));
  const id = lines.find((line) => line.startsWith('id:'));
  if (data.length > 0) {
    const numbered = id !== undefined && { id: Number(valueOf(id, 'id')) };
    return { name: name ? valueOf(name, 'event') : '', data: data.join('\n'), isComment: false, ...numbered };
  }
  const comments = lines.filter((line) => line.startsWith(':')).map((line) => valueOf(line, ''));
  return { name: '', data: comments.join('\n'), isComment: true };
}
