import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { displaySafe } from './errors.ts';

describe('a message for display', () => {
  it('contains no markup', () => {
    assert.equal(displaySafe(`<a href="x" onclick='y'>&amp;</a>`), '&lt;a href=&quot;x&quot; onclick=&#39;y&#39;&gt;&amp;amp;&lt;/a&gt;');
  });
  it('is one line', () => assert.equal(displaySafe('a\r\nb\tc\u0000d\u007fe\u001b[0m'), 'a  b c d e [0m'));
  it('is otherwise unchanged', () =>
    assert.equal(displaySafe('reload not supported — config watcher not active 𝄞'), 'reload not supported — config watcher not active 𝄞'));
});
