import { readFileSync, writeFileSync } from 'node:fs';
import { freePort } from '../../testing/ports.ts';
import { Program } from '../../testing/process.ts';
import { type Contender, HOST, onCores, started, type Task } from './contender.ts';

/** HAProxy with one thread per core, doing what our default policies do. */
export async function haproxy(path: string, { folder, cores, upstream, tls }: Task): Promise<Contender> {
  const pair = folder.file('haproxy.pem');
  if (tls !== null) writeFileSync(pair, readFileSync(tls.certificate, 'utf8') + readFileSync(tls.privateKey, 'utf8'));
  const port = await freePort();
  const config = folder.file('haproxy.cfg');
  writeFileSync(
    config,
    `global
  nbthread ${cores.length}
  maxconn 8192
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout tunnel 1h
  http-reuse always
frontend in
  bind 127.0.0.1:${port} ${tls === null ? '' : `ssl crt ${pair} alpn h2,http/1.1`}
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
  return started('haproxy', new Program(...onCores(cores, path, '-db', '-f', config)), port, tls);
}
