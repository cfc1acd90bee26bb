import type { Condition } from '../../condition.ts';
import type { Grammar } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import { type Address, parseUpstream } from '../../values/address.ts';

const FORM = 'mirror <host:port> [<percent>%]';

type Mirror = { upstream: Address; tls: boolean; percent: number; match?: Condition | undefined };

export const mirrorDirective: Grammar<{ mirror?: Mirror | null | undefined }> = {
  name: 'mirror',
  otherNames: ['mirroring', 'shadow', 'proxy_mirror'],
  form: FORM,
  args: [1, 2],
  block: 'none',
  repeats: false,
  matcher: 'before',
  read({ args: [word, share] }, part, { report }, condition) {
    if (!word) return;
    const [, scheme, rest] = /^(https?:\/\/)?(.*)$/s.exec(word.text) ?? [];
    const address = parseUpstream(rest ?? '');
    if (!address.ok) return report.error(word, `mirror ${quote(word.text)}: ${address.reason}`);
    const percent = share === undefined ? 100 : Number(share.text.slice(0, -1));
    if (share && !(/^\d{1,3}%$/.test(share.text) && percent >= 1 && percent <= 100))
      return report.error(share, `mirror ${quote(share.text)}: a percentage from 1% to 100%`);
    part.mirror = { upstream: address.value, tls: scheme === 'https://', percent, ...(condition && { match: condition }) };
  },
};
