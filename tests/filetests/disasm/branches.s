; test disasm g80
; Labels, modifiers and predicates of control flow.
joinat #join
(lg $c0) bra #side
mov b32 $r1 0x1
bra #join
side:
mov b32 $r1 0x2
join:
join nop
breakaddr #out
(e $c0) break
call #sub
out:
exit nop
sub:
ret

; expect:
; 00000000: a0005003 00000000     joinat 0x28
; 00000008: 10004003 00000280     (lg $c0) bra 0x20
; 00000010: 10018005 00000003     mov b32 $r1 0x1
; 00000018: 10005003 00000780     bra 0x28
; 00000020: 10028005 00000003   B mov b32 $r1 0x2
; 00000028: f0000001 e0000782   B join nop
; 00000030: 40009003 00000000     breakaddr 0x48
; 00000038: 50000003 00000100     (e $c0) break
; 00000040: 2000a003 00000000     call 0x50
; 00000048: f0000001 e0000781   B exit nop
;
; 00000050: 30000003 00000780  C  ret
