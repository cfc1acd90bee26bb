import { readableHost } from '../data/readable-host.ts';

/**
 * The name of a host as its owner writes it. One with letters from right to left changes nothing around it, and begins on the left, as in
 * the address bar of browsers.
 */
export function HostName({ name }: { name: string }) {
  const readable = readableHost(name);
  return (
    <bdi dir="ltr" title={readable === name ? undefined : name}>
      {readable}
    </bdi>
  );
}
