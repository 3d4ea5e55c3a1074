/**
 * A cell's own /etc/services and /etc/protocols, so that `getaddrinfo(host, "https")` and `getprotobyname("tcp")` work. The
 * host's files are not shown: an operator adds the names of local services there, which a cell has no need to know.
 */
export const internetNames = { services: services(), protocols: protocols() } as const;

/** name, port, protocols, then other names of the same service */
function services(): string {
  const usual = `
echo 7 tcp,udp
discard 9 tcp,udp
daytime 13 tcp,udp
qotd 17 tcp quote
chargen 19 tcp,udp
ftp-data 20 tcp
ftp 21 tcp
ssh 22 tcp
telnet 23 tcp
smtp 25 tcp mail
time 37 tcp,udp
whois 43 tcp
domain 53 tcp,udp
bootps 67 udp
bootpc 68 udp
tftp 69 udp
gopher 70 tcp
finger 79 tcp
http 80 tcp www
kerberos 88 tcp,udp
pop3 110 tcp pop-3
sunrpc 111 tcp,udp portmapper
nntp 119 tcp
ntp 123 udp
imap2 143 tcp imap
snmp 161 tcp,udp
snmp-trap 162 tcp,udp
bgp 179 tcp
irc 194 tcp,udp
ldap 389 tcp,udp
https 443 tcp,udp
microsoft-ds 445 tcp,udp
submissions 465 tcp ssmtp smtps urd
syslog 514 udp
rtsp 554 tcp,udp
nntps 563 tcp snntp
submission 587 tcp
ipp 631 tcp
ldaps 636 tcp,udp
domain-s 853 tcp,udp
rsync 873 tcp
ftps-data 989 tcp
ftps 990 tcp
telnets 992 tcp
imaps 993 tcp
pop3s 995 tcp
socks 1080 tcp
ms-sql-s 1433 tcp
mqtt 1883 tcp
nfs 2049 tcp,udp
mysql 3306 tcp
svn 3690 tcp subversion
sip 5060 tcp,udp
sip-tls 5061 tcp,udp
xmpp-client 5222 tcp jabber-client
mdns 5353 udp
postgresql 5432 tcp postgres
amqps 5671 tcp
amqp 5672 tcp
x11 6000 tcp x11-0
redis 6379 tcp
syslog-tls 6514 tcp
ircd 6667 tcp
http-alt 8080 tcp webcache
git 9418 tcp`;
  return lines(usual).flatMap(toServiceLines).join("");
}

function toServiceLines(line: string): string[] {
  const [name, port, transports = "", ...others] = line.split(" ");
  return transports.split(",").map((transport) => `${[name, `${port}/${transport}`, ...others].join(" ")}\n`);
}

function protocols(): string {
  const usual = `
ip 0 IP
icmp 1 ICMP
igmp 2 IGMP
tcp 6 TCP
udp 17 UDP
dccp 33 DCCP
ipv6 41 IPv6
gre 47 GRE
esp 50 IPSEC-ESP
ah 51 IPSEC-AH
ipv6-icmp 58 IPv6-ICMP
sctp 132 SCTP
udplite 136 UDPLite`;
  return lines(usual)
    .map((line) => `${line}\n`)
    .join("");
}

function lines(table: string): string[] {
  return table.trim().split("\n");
}
