// A call of a tool in a reply: what is asked, the user's answer, its result.

import { childrenOf, type Conversation, type Message, type ToolCall } from './conversation.ts';
import { canAnswer, questionKey, questions } from './tool-calls.ts';

interface Called {
  message: Message;
  call: ToolCall;
  /** Counts changes: a call that grows stays the same object. */
  change: number;
}

export function CallView({ message, call }: Called) {
  const { name, arguments: given, result, state } = call;
  const answer = questions.value.get(questionKey(message, call));
  return (
    <details class="call" open={answer !== undefined}>
      <summary>
        Calls <code>{name}</code>
        {state === 'running' && ' …'}
      </summary>
      <pre tabIndex={0}>{indented(given)}</pre>
      {answer && (
        <div class="actions" role="group" aria-label={`May ${name} be called?`}>
          <button type="button" class="first" onClick={() => answer('once')}>
            Call it
          </button>
          <button type="button" onClick={() => answer('always')}>
            Always call this tool
          </button>
          <button type="button" onClick={() => answer('refused')}>
            Refuse
          </button>
        </div>
      )}
      {result !== undefined && (
        <>
          <p class="muted">Result</p>
          <pre tabIndex={0}>{result}</pre>
        </>
      )}
    </details>
  );
}

/** Whether the calls of a reply wait for nobody: after a reload, or where a tool server was added later. */
export function mayBeAnswered(conversation: Conversation, message: Message): boolean {
  const { calls = [], stream } = message;
  const isBusy = calls.some(
    (call) => call.state === 'running' || questions.value.has(questionKey(message, call)),
  );
  if (stream !== undefined || isBusy || childrenOf(conversation, message.id).length > 0) return false;
  return canAnswer(message);
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
