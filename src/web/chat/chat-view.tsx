// The view of chat: the list of conversations, the one that is shown, its settings.

import { useEffect, useState } from 'preact/hooks';
import { refreshModels } from '../api/models.ts';
import { connectAll } from '../mcp/tool-servers.ts';
import { ToolsDialog } from '../mcp/tools-dialog.tsx';
import { route } from '../parts/route.ts';
import { Composer, stopShown } from './composer.tsx';
import { ConversationList } from './conversation-list.tsx';
import { ModelPicker } from './model-picker.tsx';
import { announcement } from './reply.ts';
import { SettingsPanel } from './settings-panel.tsx';
import { current, load } from './state.ts';
import { takeUpAll } from './talk.ts';
import { Thread } from './thread.tsx';

export function ChatView() {
  const [isListOpen, setListOpen] = useState(false);
  const [areSettingsOpen, setSettingsOpen] = useState(false);
  const [areToolsOpen, setToolsOpen] = useState(false);
  const [isMissing, setMissing] = useState(false);
  const id = route.value[1];
  useEffect(() => {
    void refreshModels();
    void takeUpAll();
    void connectAll();
  }, []);
  useEffect(() => {
    setMissing(false);
    if (id) void load(id).then((found) => setMissing(found === null));
  }, [id]);
  useEffect(() => {
    const onKey = ({ key, defaultPrevented }: KeyboardEvent) => {
      if (key !== 'Escape' || defaultPrevented || document.querySelector('dialog[open]')) return;
      if (!stopShown()) setListOpen(false);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const conversation = current.value;
  return (
    <section class="chat" aria-label="Chat">
      <aside class="drawer" data-open={isListOpen}>
        <ConversationList onChosen={() => setListOpen(false)} />
      </aside>
      <div class="conversation">
        <div class="head">
          <button
            type="button"
            class="drawer-button"
            aria-expanded={isListOpen}
            onClick={() => setListOpen(!isListOpen)}
          >
            Conversations
          </button>
          <ModelPicker />
          <span class="space" />
          <button type="button" onClick={() => setToolsOpen(true)}>
            Tools
          </button>
          <button
            type="button"
            aria-expanded={areSettingsOpen}
            onClick={() => setSettingsOpen(!areSettingsOpen)}
          >
            Settings
          </button>
        </div>
        {conversation ? (
          <Thread conversation={conversation} />
        ) : (
          <div class="thread empty">
            <p class="muted">
              {isMissing
                ? 'This conversation is not in this browser’s storage.'
                : 'What would you like to talk about?'}
            </p>
          </div>
        )}
        <Composer />
      </div>
      {areToolsOpen && <ToolsDialog onClose={() => setToolsOpen(false)} />}
      {areSettingsOpen && <SettingsPanel onClose={() => setSettingsOpen(false)} />}
      <p class="unseen" aria-live="polite">
        {announcement.value}
      </p>
    </section>
  );
}
