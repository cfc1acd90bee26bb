import { readFileSync, writeFileSync } from 'node:fs';
import type { Folder } from '../../harness/dataplane.ts';
import { freePort } from '../../harness/ports.ts';
import { Program } from '../../harness/process.ts';
import { type Contender, HOST, type Secure, started } from './contender.ts';

/** HAProxy on one core with one thread, doing what our default policies do. */
export async function haproxy(folder: Folder, core: number, upstream: number, secure: Secure | null): Promise<Contender> {
  const pair = folder.file('haproxy.pem');
  if (secure !== null) writeFileSync(pair, readFileSync(secure.certificate, 'utf8') + readFileSync(secure.privateKey, 'utf8'));
  const port = await freePort();
  const config = folder.file('haproxy.cfg');
  writeFileSync(
    config,
    `global
  nbthread 1
  maxconn 4096
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  http-reuse always
frontend in
  bind 127.0.0.1:${port} ${secure === null ? '' : `ssl crt ${pair} alpn h2,http/1.1`}
  unique-id-format %{+X}o\\ %ci:%cp_%fi:%fp_%Ts_%rt:%pid
  use_backend target if { hdr(host),field(1,:) -i ${HOST} }
backend target
  http-request set-header X-Forwarded-For %[src]
  http-request set-header X-Forwarded-Proto %[ssl_fc,iif(https,http)]
  http-request set-header X-Forwarded-Host %[req.hdr(host)]
  http-request set-header X-Real-IP %[src]
  http-request set-header X-Request-ID %[unique-id]
  http-response set-header X-Content-Type-Options nosniff
  http-response set-header X-Frame-Options SAMEORIGIN
  server one 127.0.0.1:${upstream} pool-max-conn 128
`,
  );
  return started('haproxy', new Program('taskset', ['-c', `${core}`, 'haproxy', '-db', '-f', config]), port, secure);
}
